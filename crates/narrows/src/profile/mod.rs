//! Profiles: defaults of whole systems for settings of connections and of their congestion control, under one name.
//!
//! A profile is a list of constants, each with its source. What is set and what `narrows explain` says both follow from it. A key
//! that the scenario has itself wins. A stored scenario has the keys in place of the name.

/// A list of constants: keys with their values as TOML, what keeps them away if something else does, and their sources; then what is alike, and what differs.
macro_rules! constants {
    (
        $(#[$doc:meta])* $name:ident:
        $($key:literal = $value:literal $(, unless $unless:ident)?: $source:literal;)*
        alike: $($alike:literal;)*
        differs: $($differs:literal;)*
    ) => {
        $(#[$doc])*
        pub(super) const $name: &[Constant] = &[
            $(Constant::Set { key: $key, value: $value, source: $source, unless: &[$($unless)?] },)*
            $(Constant::Alike($alike),)*
            $(Constant::Differs($differs),)*
        ];
    };
}

mod connectx;
mod links;
mod linux;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

pub(crate) use links::{LINK_PROFILES, LinkProfile};
use narrows_proto::stream::Profile;
use serde_spanned::Spanned;
use toml::de::{DeTable, DeValue};

/// A profile, with all that it is.
pub(crate) struct Info {
    profile: Profile,
    /// As it stands in scenarios.
    pub(crate) name: &'static str,
    pub(crate) carries: Carries,
    pub(crate) summary: &'static str,
    /// Versions or documents the constants were read in.
    pub(crate) source: &'static str,
    constants: &'static [&'static [Constant]],
}

/// Transport of traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carries {
    Streams,
    Rdma,
}

/// One thing to know about a profile.
pub(crate) enum Constant {
    /// A setting of streams (`transport.…`), of RDMA (`rdma.…`), or of a congestion control (`cc.NAME.…`).
    Set {
        key: &'static str,
        /// TOML.
        value: &'static str,
        source: &'static str,
        /// Not if the scenario has a key of one of these lists.
        unless: &'static [&'static [&'static str]],
    },
    /// Narrows does the same without a setting.
    Alike(&'static str),
    /// Narrows does something else.
    Differs(&'static str),
}

/// All profiles.
pub(crate) const PROFILES: &[Info] = &[
    Info {
        profile: Profile::Linux6_12,
        name: "linux-6.12",
        carries: Carries::Streams,
        summary: "streams with the defaults of Linux 6.12",
        source: "kernel 6.12.117, file by file as below",
        constants: &[linux::COMMON, linux::LINUX_6_12],
    },
    Info {
        profile: Profile::Linux4_9,
        name: "linux-4.9",
        carries: Carries::Streams,
        summary: "streams with the defaults of Linux 4.9",
        source: "kernels 4.9.227 and 4.9.112, file by file as below",
        constants: &[linux::COMMON, linux::LINUX_4_9],
    },
    Info {
        profile: Profile::ConnectX6Dx,
        name: "connectx-6-dx",
        carries: Carries::Rdma,
        summary: "RDMA with the defaults of a network card, NVIDIA ConnectX-6 Dx",
        source: "documents of the maker, measurements, and what firmware reports, one by one as below",
        constants: &[connectx::CONNECTX_6_DX],
    },
];

impl Info {
    fn constants(&self) -> impl Iterator<Item = &Constant> {
        self.constants.iter().copied().flatten()
    }

    /// All of it as Markdown.
    pub(crate) fn about(&self) -> String {
        let mut parts = ["Sets what a scenario leaves out:", "Alike without a setting:", "Differs:"]
            .map(|title| format!("{title}\n\n"));
        for constant in self.constants() {
            let (part, line) = match constant {
                Constant::Set { key, value, source, .. } => (0, format!("`{key} = {value}`: {source}")),
                Constant::Alike(what) => (1, (*what).to_owned()),
                Constant::Differs(what) => (2, (*what).to_owned()),
            };
            parts[part].push_str(&format!("- {line}\n"));
        }
        parts.join("\n")
    }
}

/// The profile of this name.
fn find(name: &str) -> Option<&'static Info> {
    PROFILES.iter().find(|info| info.name == name)
}

/// All of a profile.
pub(crate) fn of(profile: Profile) -> &'static Info {
    PROFILES.iter().find(|info| info.profile == profile).expect("every profile is in the list")
}

/// The names of those for traffic that is carried so.
pub(crate) fn names_of(carries: Carries) -> String {
    let names: Vec<_> =
        PROFILES.iter().filter(|info| info.carries == carries).map(|info| info.name).collect();
    names.join(", ")
}

/// Names of the tables that profiles complete.
pub(crate) const COMPLETED: [&str; 3] = ["transport", "rdma", "cc"];

/// Gives the settings of all groups of traffic, and of the root, the values of their profiles where they have none. Mistakes in them
/// would be found at the name of the profile.
pub(crate) fn complete(root: &mut DeTable<'_>) {
    if let Some(DeValue::Array(groups)) = root.get_mut("traffic").map(Spanned::get_mut) {
        for group in groups.iter_mut() {
            if let DeValue::Table(group) = group.get_mut() {
                complete_table(group);
            }
        }
    }
    complete_table(root);
    links::complete(root);
}

/// A table with `transport`, and perhaps `cc`.
fn complete_table(table: &mut DeTable<'_>) {
    let Some((info, span)) = profile_of(table) else { return };
    // A profile of something else is an error, or meant for other groups.
    if table.contains_key("rdma") != (info.carries == Carries::Rdma) {
        return;
    }
    let mut to_set = Vec::new();
    let mut found = |path: &str| has(table, path);
    for constant in info.constants() {
        if let Constant::Set { key, value, unless, .. } = constant
            && !unless.iter().copied().flatten().any(|other| found(other))
            && !found(key)
        {
            to_set.push((*key, *value));
        }
    }
    for (key, value) in to_set {
        let value = DeValue::parse(value).expect("constants of profiles are TOML").into_inner();
        put(table, key, value, &span);
    }
}

fn profile_of(table: &DeTable<'_>) -> Option<(&'static Info, Range<usize>)> {
    let profile = table.get("transport")?.get_ref().get("profile")?;
    Some((find(profile.get_ref().as_str()?)?, profile.span()))
}

/// The table in which the first keys of a path stand, which goes on with the rest: of controls, those of near-source loops too.
fn control_of<'t, 'a>(cc: &'t mut DeTable<'a>, name: &str) -> Option<&'t mut DeTable<'a>> {
    let wrapped = cc.contains_key("annulus");
    let cc = if wrapped { inner(inner(cc, "annulus")?, "end_to_end")? } else { cc };
    inner(cc, name)
}

/// The table at a key.
fn inner<'t, 'a>(table: &'t mut DeTable<'a>, key: &str) -> Option<&'t mut DeTable<'a>> {
    match table.get_mut(key)?.get_mut() {
        DeValue::Table(inner) => Some(inner),
        _ => None,
    }
}

/// The settings that a path begins in, and the rest of it: `transport.a.b` is `a.b` in the table `transport`.
fn settings<'t, 'a, 'p>(table: &'t mut DeTable<'a>, path: &'p str) -> Option<(&'t mut DeTable<'a>, &'p str)> {
    let (first, rest) = path.split_once('.')?;
    let within = inner(table, first)?;
    if first == "cc" {
        let (name, rest) = rest.split_once('.')?;
        return Some((control_of(within, name)?, rest));
    }
    Some((within, rest))
}

/// Whether there is a value at this path, or on the way to it one that is no table.
fn has(table: &mut DeTable<'_>, path: &str) -> bool {
    let Some((mut within, mut rest)) = settings(table, path) else { return false };
    while let Some((first, more)) = rest.split_once('.') {
        match within.get_mut(first).map(Spanned::get_mut) {
            None => return false,
            Some(DeValue::Table(inner)) => (within, rest) = (inner, more),
            Some(_) => return true,
        }
    }
    within.contains_key(rest)
}

/// Writes a value at this path, if there are such settings.
fn put<'a>(table: &mut DeTable<'a>, path: &'static str, value: DeValue<'a>, span: &Range<usize>) {
    let Some((mut within, mut rest)) = settings(table, path) else { return };
    let key = |name: &'static str| Spanned::new(span.clone(), Cow::Borrowed(name));
    while let Some((first, more)) = rest.split_once('.') {
        if !within.contains_key(first) {
            within.insert(key(first), Spanned::new(span.clone(), DeValue::Table(DeTable::new())));
        }
        let Some(next) = inner(within, first) else { return };
        (within, rest) = (next, more);
    }
    within.insert(key(rest), Spanned::new(span.clone(), value));
}
