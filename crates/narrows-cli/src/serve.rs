//! A folder of static files for browsers on this machine.
//!
//! Only what a browser needs to load a page: GET and HEAD, one request for each connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// The longest head of a request.
const LONGEST: u64 = 16 << 10;
/// Time that a browser has to send a request, and to take some of the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// A folder, and where it is served.
#[derive(Debug)]
pub(crate) struct Site {
    /// Without symbolic links.
    folder: PathBuf,
    listener: TcpListener,
}

/// An answer to a request.
#[derive(Debug, PartialEq, Eq)]
struct Answer {
    status: &'static str,
    kind: &'static str,
    body: Vec<u8>,
    /// The body is left out.
    is_head: bool,
}

impl Site {
    /// Begins to listen at a port of this machine's loopback; at any free one, if `port` is 0.
    ///
    /// # Errors
    /// If there is no such folder, or the port is taken.
    pub(crate) fn open(folder: &Path, port: u16) -> io::Result<Self> {
        let folder = folder.canonicalize()?;
        Ok(Self { folder, listener: TcpListener::bind((Ipv4Addr::LOCALHOST, port))? })
    }

    /// Address of the page.
    ///
    /// # Errors
    /// If the system does not report it.
    pub(crate) fn address(&self) -> io::Result<String> {
        Ok(format!("http://{}/", self.listener.local_addr()?))
    }

    /// Answers requests for good.
    pub(crate) fn serve(&self) {
        std::thread::scope(|scope| {
            for stream in self.listener.incoming().flatten() {
                // A browser that goes away in the midst of an answer is nobody's mistake.
                scope.spawn(move || drop(self.attend(&stream)));
            }
        });
    }

    fn attend(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let mut head = BufReader::new(stream.take(LONGEST));
        let mut request = String::new();
        head.read_line(&mut request)?;
        let mut line = String::new();
        while head.read_line(&mut line)? > 2 {
            line.clear();
        }
        let Answer { status, kind, body, is_head } = answer(&self.folder, &request);
        let mut stream = stream;
        write!(
            stream,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-cache\r\n\
             X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
            body.len()
        )?;
        if is_head { Ok(()) } else { stream.write_all(&body) }
    }
}

/// Answer to a request, of which this is the first line.
fn answer(folder: &Path, request: &str) -> Answer {
    let plain = |status: &'static str| Answer {
        status,
        kind: "text/plain; charset=utf-8",
        body: format!("{status}\n").into_bytes(),
        is_head: false,
    };
    let mut words = request.split_ascii_whitespace();
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    if !matches!(method, "GET" | "HEAD") {
        return plain("405 Method Not Allowed");
    }
    let Some(path) = inside(folder, target) else { return plain("404 Not Found") };
    match std::fs::read(&path) {
        Ok(body) => Answer { status: "200 OK", kind: kind(&path), body, is_head: method == "HEAD" },
        Err(_) => plain("404 Not Found"),
    }
}

/// The file that is meant, if it is inside of the folder, whatever symbolic links lead to.
fn inside(folder: &Path, target: &str) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?.strip_prefix('/')?;
    let path = decoded(path)?;
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(name) if !name.to_string_lossy().starts_with('.'));
    if !Path::new(&path).components().all(is_plain) {
        return None;
    }
    let mut file = folder.join(&path);
    if file.is_dir() {
        file.push("index.html");
    }
    let file = file.canonicalize().ok()?;
    (file.starts_with(folder) && file.is_file()).then_some(file)
}

/// A path of an address, with its bytes in place of `%20`.
fn decoded(path: &str) -> Option<String> {
    let mut parts = path.split('%');
    let mut bytes = parts.next()?.as_bytes().to_owned();
    for part in parts {
        bytes.push(u8::from_str_radix(part.get(..2)?, 16).ok()?);
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    String::from_utf8(bytes).ok()
}

/// Type of a file by its name.
fn kind(path: &Path) -> &'static str {
    match path.extension().and_then(|ending| ending.to_str()).unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "toml" | "txt" | "md" | "csv" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site() -> (tempfile::TempDir, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().canonicalize().unwrap().join("site");
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        for (name, text) in
            [("index.html", "home"), ("a b.wasm", "code"), ("sub/index.html", "below"), (".hidden", "no")]
        {
            std::fs::write(folder.join(name), text).unwrap();
        }
        std::fs::write(place.path().join("secret"), "no").unwrap();
        (place, folder)
    }

    #[test]
    fn files_come_with_their_types() {
        let (_place, folder) = site();
        for (target, kind, body) in [
            ("/", "text/html; charset=utf-8", "home"),
            ("/index.html?x=1", "text/html; charset=utf-8", "home"),
            ("/a%20b.wasm", "application/wasm", "code"),
            ("/sub/", "text/html; charset=utf-8", "below"),
        ] {
            let answer = answer(&folder, &format!("GET {target} HTTP/1.1"));
            let found = (answer.status, answer.kind, &*answer.body);
            assert_eq!(found, ("200 OK", kind, body.as_bytes()), "{target}");
        }
        assert!(answer(&folder, "HEAD / HTTP/1.1").is_head);
    }

    #[test]
    fn nothing_outside_of_the_folder_is_served() {
        let (_place, folder) = site();
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.join("../secret"), folder.join("link")).unwrap();
        for target in [
            "/../secret",
            "/%2e%2e/secret",
            "/sub/../../secret",
            "//etc/passwd",
            "/link",
            "/.hidden",
            "/%zz",
            "/%",
            "/none",
            "x",
            "",
        ] {
            assert_eq!(
                answer(&folder, &format!("GET {target} HTTP/1.1")).status,
                "404 Not Found",
                "{target}"
            );
        }
        assert_eq!(answer(&folder, "POST / HTTP/1.1").status, "405 Method Not Allowed");
        assert_eq!(answer(&folder, "").status, "405 Method Not Allowed");
    }
}
