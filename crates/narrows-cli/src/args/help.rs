//! The command as it is parsed, with its help in groups and examples.

use std::fmt::Write;

use clap::CommandFactory;

use super::Arguments;

/// The name of a command, and how it is used.
type Examples = (&'static str, &'static [&'static str]);

/// Commands by what somebody is about to do, each with examples. All of them must be valid.
const GROUPS: &[(&str, &[Examples])] = &[
    (
        "Run",
        &[
            ("demo", &["narrows demo", "narrows demo wan", "narrows demo dvl --seeds 2"]),
            ("new", &["narrows new my-fabric --template leaf-spine"]),
            (
                "import",
                &[
                    "narrows import hpcc --config config.txt --out mine.toml",
                    "narrows import htsim --matrix perm.cm --linkspeed 100Gbps",
                    "narrows import goal --goal allreduce.goal",
                    "narrows import chakra --traces traces/step",
                ],
            ),
            (
                "check",
                &[
                    "narrows check my-fabric.toml",
                    "narrows check my-fabric.toml --set traffic.search.cc='{ gemini = {} }'",
                ],
            ),
            (
                "run",
                &[
                    "narrows run my-fabric.toml",
                    "narrows run my-fabric.toml --watch",
                    "narrows run my-fabric.toml --seeds 5 --set stop.after='\"100 ms\"' --out results",
                ],
            ),
            #[cfg(target_os = "linux")]
            (
                "live",
                &[
                    "narrows live my-fabric.toml",
                    "narrows live my-fabric.toml --scale 10",
                    "narrows live my-fabric.toml --run 'host0: iperf3 -s' --run 'host1: sleep 1; iperf3 -c host0'",
                ],
            ),
            #[cfg(target_os = "linux")]
            ("twin", &["narrows twin my-fabric.toml", "narrows twin my-fabric.toml --runs 5"]),
            #[cfg(target_os = "linux")]
            ("kernel", &["narrows kernel check"]),
            (
                "sweep",
                &[
                    "narrows sweep load.toml",
                    "narrows sweep load.toml --dry-run",
                    "narrows sweep load.toml --shard 2/8 --out part-2",
                ],
            ),
            ("merge", &["narrows merge part-1 part-2 --out all"]),
        ],
    ),
    (
        "Look",
        &[
            (
                "report",
                &[
                    "narrows report out/my-fabric",
                    "narrows report before after --out both.html",
                    "narrows report out/my-sweep --metric '*.p99_*' --by control",
                ],
            ),
            ("open", &["narrows open out/my-fabric", "narrows open out/my-fabric --print"]),
            (
                "explain",
                &[
                    "narrows explain dctcp",
                    "narrows explain wan.delay",
                    "narrows explain N0005",
                    "narrows explain p99_slowdown",
                ],
            ),
            ("playground", &["narrows playground target/playground"]),
            ("list", &["narrows list", "narrows list controls", "narrows list templates --json"]),
        ],
    ),
    (
        "Compare",
        &[
            (
                "compare",
                &[
                    "narrows compare dctcp.toml gemini.toml",
                    "narrows compare my-fabric.toml --variant 'k30:switches.tor.marking.step.k=\"30 kB\"' --markdown",
                ],
            ),
            (
                "repro",
                &[
                    "narrows repro --list",
                    "narrows repro bcn --quick",
                    "narrows repro new my-paper",
                    "narrows repro ./my-paper",
                ],
            ),
            (
                "break",
                &[
                    "narrows break bbr3",
                    "narrows break cubic --objective fill --evaluations 5000 --out cubic-fills",
                    "narrows break reno --objective unfair --rate 50Mb/s",
                ],
            ),
            ("validate", &["narrows validate --quick", "narrows validate 'dctcp.*'"]),
        ],
    ),
    (
        "Share",
        &[
            (
                "trace",
                &[
                    "narrows trace out/my-fabric --pcapng --flow 3",
                    "narrows trace out/my-fabric --qlog --flow search",
                ],
            ),
            ("export", &["narrows export openmetrics out/my-fabric", "narrows export flent out/my-fabric"]),
        ],
    ),
    (
        "Extend",
        &[
            ("schema", &["narrows schema"]),
            ("completions", &["narrows completions bash", "narrows completions zsh"]),
        ],
    ),
];

/// The command with its help.
pub(crate) fn command() -> clap::Command {
    let mut command = Arguments::command();
    let mut groups = String::new();
    for (heading, commands) in GROUPS {
        let _ = writeln!(groups, "{heading}:");
        for (name, examples) in *commands {
            let about =
                command.find_subcommand(name).and_then(clap::Command::get_about).map(ToString::to_string);
            let _ = writeln!(groups, "  {name:<WIDTH$}{}", about.unwrap_or_default());
            let examples =
                examples.iter().map(|example| format!("  {example}")).collect::<Vec<_>>().join("\n");
            command =
                command.mut_subcommand(name, |command| command.after_help(format!("Examples:\n{examples}")));
        }
        groups.push('\n');
    }
    let template = format!("{{about}}\n\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}");
    command.help_template(template)
}

/// Room for the longest name of a command.
const WIDTH: usize = 13;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_in_one_group() {
        let grouped: Vec<_> =
            GROUPS.iter().flat_map(|(_, commands)| commands.iter().map(|(name, _)| *name)).collect();
        let command = Arguments::command();
        let mut known: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
        let mut sorted = grouped.clone();
        known.sort_unstable();
        sorted.sort_unstable();
        assert_eq!(sorted, known);
        assert!(grouped.iter().all(|name| name.len() < WIDTH));
    }

    #[test]
    fn every_example_is_accepted() {
        let examples = GROUPS
            .iter()
            .flat_map(|(_, commands)| commands.iter())
            .flat_map(|(name, examples)| examples.iter().map(move |example| (name, example)));
        for (name, example) in examples {
            let words = shlex::split(example).expect("quotes are closed");
            assert_eq!(&words[1], name);
            command().try_get_matches_from(words).unwrap_or_else(|error| panic!("{example}: {error}"));
        }
    }

    #[test]
    fn lines_of_the_help_fit_a_terminal() {
        let help = command().render_help().to_string();
        let long: Vec<_> = help.lines().filter(|line| line.chars().count() > 100).collect();
        assert!(long.is_empty(), "{long:?}");
    }
}
