use std::path::Path;

use narrows::diagnostic::{Checked, Code, Diagnostic};
use narrows::visible::shown_path;

use crate::serve::Site;
use crate::{Status, args};

/// Serves the page that runs scenarios by itself, until it is interrupted.
pub(crate) fn playground(arguments: &args::Playground) -> Checked<Status> {
    let args::Playground { folder, port, print } = arguments;
    if !folder.join("engine.wasm").is_file() {
        let found = if folder.is_dir() { "holds no engine.wasm" } else { "is not a folder" };
        let message = format!("{} {found}", folder.display());
        let help = "cargo xtask playground builds the page into target/playground";
        return Err(Diagnostic::error(Code::InputFailed, message).help(help).into());
    }
    let (site, address) = listen(folder, *port)?;
    say!("{} is served at {address} for this machine only; Ctrl-C ends it", shown_path(folder));
    if !print && let Err(error) = open::that_detached(&address) {
        complain!("cannot start a browser: {error}");
    }
    site.serve();
    Ok(Status::Done)
}

fn listen(folder: &Path, port: u16) -> Checked<(Site, String)> {
    let open = || {
        let site = Site::open(folder, port)?;
        let address = site.address()?;
        Ok((site, address))
    };
    open().map_err(|error: std::io::Error| {
        let message = format!("cannot serve {} at port {port}: {error}", folder.display());
        Diagnostic::error(Code::OutputFailed, message)
            .help("--port names another port, 0 takes any that is free")
            .into()
    })
}
