//! The header is what cbindgen makes of the sources. `NARROWS_HEADER=overwrite` writes it.

use std::path::Path;

#[test]
fn the_header_is_what_the_sources_say() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    // Its modules are found from there.
    let builder = cbindgen::Builder::new().with_config(config).with_src(root.join("src/lib.rs"));
    let mut made = Vec::new();
    builder.generate().unwrap().write(&mut made);
    let (path, made) = (root.join("include/narrows.h"), String::from_utf8(made).unwrap());
    if std::env::var_os("NARROWS_HEADER").is_some_and(|said| said == "overwrite") {
        std::fs::write(&path, &made).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == made,
        "include/narrows.h is not up to date: NARROWS_HEADER=overwrite cargo test -p narrows-c --test header"
    );
}
