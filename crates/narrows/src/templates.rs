//! Scenarios that are built in, to run or to start from.

use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::document::Document;
use crate::plan::bad_name;

/// A scenario that is built in.
#[derive(Clone, Copy, Debug)]
pub struct Template {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! templates {
    ($($name:literal)+) => {
        /// All of them.
        pub const TEMPLATES: &[Template] = &[$(Template {
            name: $name,
            text: include_str!(concat!("../../../scenarios/", $name, ".toml")),
        }),+];
    };
}

templates! {
    "two-dc-mix"
    "shared-uplinks"
    "dumbbell"
    "access-link"
    "changing-wan"
    "incast"
    "leaf-spine"
    "load-balance"
    "fat-tree"
    "clos"
    "parking-lot"
    "datagrams"
    "explicit"
    "victim"
    "isolation"
    "racks"
    "rdma"
    "ultra-ethernet"
    "gemini"
    "rpc"
    "training"
}

/// The template of this name.
pub fn find(name: &str) -> Option<Template> {
    TEMPLATES.iter().copied().find(|template| template.name == name)
}

impl Template {
    /// Its summary, the first line.
    pub fn summary(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// It as a document, to change and to plan.
    ///
    /// # Errors
    /// None; templates are tested.
    pub fn document(&self) -> Checked<Document> {
        Document::parse(&format!("{}.toml", self.name), self.text, "")
    }

    /// Its text as a scenario called `name`.
    ///
    /// # Errors
    /// If no scenario can be called that.
    pub fn text_for(&self, name: &str) -> Checked<String> {
        if let Some(problem) = bad_name(name) {
            return Err(Diagnostic::error(Code::OutOfRange, format!("the name \"{name}\" {problem}")).into());
        }
        Ok(self.text.replacen(&format!("name = \"{}\"", self.name), &format!("name = \"{name}\""), 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Plan;

    #[test]
    fn every_template_is_a_scenario_without_warnings_that_says_what_it_shows() {
        for template in TEMPLATES {
            let plan =
                Plan::new(template.document().expect("parses")).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(plan.scenario.name, template.name);
            assert!(plan.warnings.is_empty(), "{}: {}", template.name, plan.warnings[0]);
            assert!(template.text.starts_with("# ") && template.summary().len() < 90, "{}", template.name);
        }
    }

    #[test]
    fn a_scenario_written_with_all_its_settings_is_the_same_scenario() {
        for template in TEMPLATES {
            let plan =
                Plan::new(template.document().expect("parses")).unwrap_or_else(|error| panic!("{error}"));
            let document = Document::parse("again.toml", plan.text.clone(), "").expect("parses");
            let again = Plan::new(document).unwrap_or_else(|error| panic!("{error}\n{}", plan.text));
            assert_eq!(again.scenario, plan.scenario);
        }
    }

    #[test]
    fn a_new_scenario_differs_from_its_template_by_name_only() {
        let template = find("dumbbell").expect("there");
        let text = template.text_for("mine").expect("a fine name");
        assert_eq!(text.replace("\"mine\"", "\"dumbbell\""), template.text);
        assert!(template.text_for("../mine").is_err());
    }
}
