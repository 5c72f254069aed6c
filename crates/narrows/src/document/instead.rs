//! Suggestions for a path at which no file is.

use std::path::Path;

use crate::diagnostic::meant;
use crate::templates;

/// The same path with `.toml`, a template of this name, or the file beside it whose name is most like it.
pub(super) fn instead(path: &Path) -> Option<String> {
    if path.exists() {
        return None;
    }
    let mut longer = path.as_os_str().to_owned();
    longer.push(".toml");
    let longer = Path::new(&longer);
    if longer.is_file() {
        return Some(format!("did you mean {}?", longer.display()));
    }
    let stem = path.file_stem()?.to_str()?;
    if let Some(template) = templates::find(stem) {
        let name = template.name;
        return Some(format!(
            "{name} is a template: narrows new {name} --template {name} writes {name}.toml"
        ));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut stems: Vec<_> = names.filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())).collect();
    stems.sort();
    let near = meant(stem, stems.iter().map(String::as_str))?;
    Some(format!("did you mean {}?", path.with_file_name(format!("{near}.toml")).display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beside_it_or_a_template_is_offered() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("fabric.toml"), "").unwrap();
        let offer = |name: &str| {
            instead(&place.path().join(name))
                .map(|text| text.replace(&place.path().display().to_string(), ""))
        };
        assert_eq!(offer("fabric").as_deref(), Some("did you mean /fabric.toml?"));
        assert_eq!(offer("fabrik.toml").as_deref(), Some("did you mean /fabric.toml?"));
        let template =
            "leaf-spine is a template: narrows new leaf-spine --template leaf-spine writes leaf-spine.toml";
        assert_eq!(offer("leaf-spine").as_deref(), Some(template));
        assert_eq!(["zzz", "fibers.toml", "fabric.toml"].map(offer), [const { None }; 3]);
    }
}
