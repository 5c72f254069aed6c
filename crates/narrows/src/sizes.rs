//! Distributions of flow sizes: built in, or from a file.

use std::path::Path;

use narrows_proto::units::Bytes;
use narrows_sim::workload::{Sizes, SizesError};

use crate::csv_file::{Field, Table};
use crate::diagnostic::{Checked, Code, Diagnostic};
use crate::inputs::Content;
use crate::scenario::SizeSource;

/// Payload of flows that never end: more than any run can send, and room for sums.
pub(crate) const ENDLESS: Bytes = Bytes::new(1 << 60);

/// The size of a flow: with a unit, or a bare number of bytes.
pub(crate) fn flow_size(field: &Field<'_>) -> Checked<Bytes> {
    let bare = field.text.bytes().all(|byte| byte.is_ascii_digit()) && !field.text.is_empty();
    let text = if bare { format!("{} B", field.text) } else { field.text.to_owned() };
    let size = text.parse::<Bytes>().map_err(|error| field.error(error.to_string()))?;
    if size == Bytes::ZERO || size > ENDLESS {
        return Err(field.error(format!("a flow of {size}, expected 1 B to {ENDLESS}")).into());
    }
    Ok(size)
}

/// A distribution and where it comes from.
#[derive(Clone, Debug)]
pub struct LoadedSizes {
    /// To draw from.
    pub sizes: Sizes,
    /// For messages: its name, file or value.
    pub name: String,
    /// The probabilities were read as percent.
    pub percent: bool,
    /// Number of sizes in its file, if that lists them.
    pub listed: Option<usize>,
}

/// Means that differ by more than this part, with straight lines and with steps between the points of a file, are worth a word.
const ABOUT_THE_SAME: f64 = 0.05;

impl LoadedSizes {
    /// A warning if it matters what lies between the points of its file. Points that are built in stand for straight lines in the
    /// publications they are from.
    pub(crate) fn doubt(&self, source: &SizeSource, group: &str) -> Option<Diagnostic> {
        let SizeSource::File(_) = source else { return None };
        let (lines, steps) = (self.sizes.mean(), self.sizes.step_mean());
        if (steps / lines - 1.0).abs() <= ABOUT_THE_SAME {
            return None;
        }
        let [lines, steps] = [lines, steps].map(|mean| Bytes::from_f64(mean + 0.5));
        // The place of the file is another one in results.
        let message = format!(
            "the mean size of traffic \"{group}\" is {lines:.1} with straight lines between the points of its file, as sizes are drawn, \
             {steps:.1} if only the sizes of the points occur"
        );
        let help =
            "a point more before each jump, or a file with one column that lists sizes, says which is meant";
        Some(Diagnostic::warning(Code::CoarseSizes, message).help(help))
    }
}

/// A distribution that is built in.
#[derive(Clone, Copy, Debug)]
pub struct BuiltIn {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Its points, as CSV.
    text: &'static str,
}

macro_rules! built_in {
    ($($variant:ident $name:literal)+) => {
        /// All distributions that are built in.
        pub const BUILT_IN: &[BuiltIn] =
            &[$(BuiltIn { name: $name, text: include_str!(concat!("../data/sizes/", $name, ".csv")) }),+];

        fn built_in(source: &SizeSource) -> Option<BuiltIn> {
            let name = match source {
                $(SizeSource::$variant => $name,)+
                SizeSource::Constant(_) | SizeSource::File(_) => return None,
            };
            BUILT_IN.iter().copied().find(|built_in| built_in.name == name)
        }
    };
}

built_in! {
    Websearch "websearch"
    Datamining "datamining"
    Alistorage "alistorage"
    AliInterDc "ali_inter_dc"
    FbHadoop "fb_hadoop"
    FbWebserver "fb_webserver"
    FbCachefollower "fb_cachefollower"
    GoogleRpc "google_rpc"
    Dvl "dvl"
    DvlBytes "dvl_bytes"
    DvlLog "dvl_log"
}

impl BuiltIn {
    /// Where its points come from.
    pub fn summary(&self) -> &'static str {
        self.text.lines().next().unwrap_or_default().trim_start_matches("# ")
    }

    /// The distribution.
    pub fn load(&self) -> LoadedSizes {
        parse(self.name, self.text.to_owned()).expect("built-in distributions are tested")
    }
}

/// Loads a distribution. `read` gives the content of a file.
///
/// # Errors
/// If a file cannot be read or its points are no distribution.
pub fn load(source: &SizeSource, read: impl FnOnce(&Path) -> Checked<Content>) -> Checked<LoadedSizes> {
    if let Some(built_in) = built_in(source) {
        return Ok(built_in.load());
    }
    match source {
        SizeSource::Constant(size) if *size == Bytes::ZERO => {
            Err(Diagnostic::error(Code::OutOfRange, "flows of 0 B, expected at least 1 B").into())
        }
        SizeSource::Constant(size) if *size > ENDLESS => {
            let message = format!("flows of {size}, expected at most {ENDLESS}");
            Err(Diagnostic::error(Code::OutOfRange, message).into())
        }
        SizeSource::Constant(size) => Ok(LoadedSizes {
            sizes: Sizes::constant(*size),
            name: size.to_string(),
            percent: false,
            listed: None,
        }),
        SizeSource::File(path) => from_table(&Table::of(read(path)?.source())),
        _ => unreachable!("all others are built in"),
    }
}

const COLUMNS: [&str; 2] = ["bytes", "cumulative"];

/// Reads a distribution from CSV with the columns bytes,cumulative, on a scale to 1 or to 100. A first line with nothing but a
/// number is the mean that files of Homa state; what counts is the mean of the points. A text with one column lists sizes, each as
/// likely as the others.
///
/// # Errors
/// If a row cannot be read or the points are no distribution.
pub fn parse(name: &str, text: String) -> Checked<LoadedSizes> {
    from_table(&Table::new(name, text))
}

fn from_table(table: &Table) -> Checked<LoadedSizes> {
    if table.is_list() {
        return from_list(table);
    }
    let number = |field: &Field<'_>| {
        let parsed = field.text.parse::<f64>().ok().filter(|number| number.is_finite());
        parsed.ok_or_else(|| field.error(format!("found \"{}\", expected a number", field.text)))
    };
    let rows = table.rows(COLUMNS).collect::<Checked<Vec<_>>>()?;
    let mut points = Vec::with_capacity(rows.len());
    for [bytes, cumulative] in &rows {
        let size = number(bytes)?;
        if size > ENDLESS.as_f64() {
            return Err(bytes.error(format!("a flow of {size:e} B, expected at most {ENDLESS}")).into());
        }
        points.push((size, number(cumulative)?));
    }
    let percent = points.last().is_some_and(|last| last.1 == 100.0);
    if percent {
        points.iter_mut().for_each(|point| point.1 /= 100.0);
    }
    match Sizes::from_points(&points) {
        Ok(sizes) => Ok(LoadedSizes { sizes, name: table.name().to_owned(), percent, listed: None }),
        Err(error) => Err(refuse(table.name(), &rows, &error).into()),
    }
}

/// The sizes of a text with one column. Numbers may have the forms that programs write, and are whole bytes then.
fn from_list(table: &Table) -> Checked<LoadedSizes> {
    let size = |field: &Field<'_>| match field.text.parse::<f64>() {
        Ok(bytes) if bytes >= 0.5 && bytes <= ENDLESS.as_f64() => Ok(Bytes::from_f64(bytes + 0.5)),
        _ => flow_size(field),
    };
    let values = table.rows(["bytes"]).map(|row| size(&row?[0])).collect::<Checked<Vec<_>>>()?;
    let listed = Some(values.len());
    let name = table.name().to_owned();
    match Sizes::empirical(values) {
        Ok(sizes) => Ok(LoadedSizes { sizes, name, percent: false, listed }),
        Err(error) => Err(refuse(&name, &[], &error).into()),
    }
}

fn refuse(name: &str, rows: &[[Field<'_>; 2]], error: &SizesError) -> Diagnostic {
    let field = match error {
        SizesError::Falling { what, point, .. } => Some(&rows[*point][usize::from(*what == "probability")]),
        SizesError::NotANumber { point, .. } => Some(&rows[*point][0]),
        SizesError::Incomplete { .. } => rows.last().map(|row| &row[1]),
        SizesError::Empty | SizesError::NoBytes => None,
    };
    let diagnostic = Diagnostic::error(Code::Sizes, format!("{name} is no size distribution: {error}"));
    let diagnostic = diagnostic.at(field.map(Field::place));
    match error {
        SizesError::Incomplete { .. } => {
            diagnostic.help("the last probability is 1, or 100 if all are percent")
        }
        _ => diagnostic,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_sizes_are_read_as_programs_write_them() {
        let read =
            |text: &str| parse("sizes", text.into()).map(|loaded| (loaded.listed, loaded.sizes.mean()));
        assert_eq!(read("size\n1.000000000000000000e+02\n300\n").unwrap(), (Some(2), 200.0));
        assert_eq!(read("99.6\n1kB\n").unwrap(), (Some(2), 550.0));
        for wrong in ["1\nsize\n", "nan\n1\ninf\n", "1\n-2\n", "1\n0.2\n"] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn built_in_distributions_have_the_published_means() {
        // Means by linear interpolation between the published points.
        let expected = [
            ("websearch", 1_711_250.0),
            ("datamining", 12_658_199.0),
            ("alistorage", 40_870.0),
            ("ali_inter_dc", 63_957_661.0),
            ("fb_hadoop", 120_421.0),
            ("fb_webserver", 62_229.0),
            ("fb_cachefollower", 686_866.0),
            ("google_rpc", 2_892.0),
            ("dvl", 775_258.0),
            ("dvl_bytes", 70_260.0),
            ("dvl_log", 628_612.0),
        ];
        assert_eq!(BUILT_IN.len(), expected.len());
        for (built_in, (name, mean)) in BUILT_IN.iter().zip(expected) {
            assert_eq!(built_in.name, name);
            let loaded = built_in.load();
            assert!((loaded.sizes.mean() - mean).abs() < 1.0, "{name}: {}", loaded.sizes.mean());
            assert!(!loaded.percent && !built_in.summary().is_empty());
        }
    }

    /// Classes of DVL: sizes from one bound to the next, and the share of each in percent.
    const BOUNDS: [f64; 5] = [1e3, 1e5, 1e6, 1e7, 3e7];
    const SHARES: [f64; 4] = [69.52, 25.3, 3.0, 2.18];

    fn loaded(source: &SizeSource) -> Sizes {
        load(source, |_| unreachable!("it is no file")).expect("built in").sizes
    }

    /// Which part of the flows of each class, and which part of all bytes, by sampling at a million quantiles.
    fn by_class(sizes: &Sizes) -> [[f64; 2]; 4] {
        let mut parts = [[0.0; 2]; 4];
        for step in 0..1_000_000 {
            let size = sizes.quantile((f64::from(step) + 0.5) / 1e6).as_f64();
            let class = BOUNDS[1..4].partition_point(|bound| size > *bound);
            parts[class][0] += 1e-6;
            parts[class][1] += size * 1e-6 / sizes.mean();
        }
        parts
    }

    #[test]
    fn shares_of_the_classes_of_dvl_count_flows_or_bytes() {
        for (source, what) in [(SizeSource::Dvl, 0), (SizeSource::DvlLog, 0), (SizeSource::DvlBytes, 1)] {
            let parts = by_class(&loaded(&source));
            for (part, share) in parts.iter().zip(SHARES) {
                let percent = 100.0 * part[what];
                assert!((percent - share).abs() < 0.01, "{source:?}: {percent} %, expected {share} %");
            }
        }
    }

    #[test]
    fn within_the_classes_of_dvl_sizes_or_their_logarithms_are_uniform() {
        let mut from = 0.0;
        for (bounds, share) in BOUNDS.windows(2).zip(SHARES) {
            let [low, high] = [bounds[0], bounds[1]];
            for step in [0.25, 0.5, 0.75] {
                let found = |source| loaded(&source).quantile(from + share / 100.0 * step).as_f64();
                let (even, log) = (found(SizeSource::Dvl), found(SizeSource::DvlLog));
                assert!((even / (low + (high - low) * step) - 1.0).abs() < 1e-4, "{even}");
                assert!((log / (low * (high / low).powf(step)) - 1.0).abs() < 0.01, "{log}");
            }
            from += share / 100.0;
        }
        let logarithmic = |(bounds, share): (&[f64], f64)| {
            share / 100.0 * (bounds[1] - bounds[0]) / (bounds[1] / bounds[0]).ln()
        };
        let exact: f64 = BOUNDS.windows(2).zip(SHARES).map(logarithmic).sum();
        assert!((loaded(&SizeSource::DvlLog).mean() / exact - 1.0).abs() < 0.01, "{exact}");
    }

    #[test]
    fn percent_are_recognized() {
        let loaded = parse("a.csv", "0 0\n1000 50\n3000 100\n".into()).unwrap();
        assert!(loaded.percent);
        assert_eq!(loaded.sizes.mean(), 0.5 * 500.0 + 0.5 * 2000.0);
    }

    #[test]
    fn files_of_other_tools_are_read_whatever_their_blanks_and_first_line() {
        let mean = |text: &str| parse("a.txt", text.into()).unwrap().sizes.mean();
        let points = 0.5 * 500.0 + 0.5 * 2000.0;
        // Homa states a mean, the generators of data center traffic use tabs or blanks, a probability may stand twice.
        assert_eq!(mean("185.0\n0 0\n1000   0.5\n3000\t1\n"), points);
        assert_eq!(mean("0\t0\n1000 0.5\n3000 1\n"), points);
        assert_eq!(mean("0 0.0\n0 0.0\n1000 0.5\n3000 1.0\n"), points);
        let error = parse("a.txt", "185.0\n0 0\nx 1\n".into()).expect_err("refused").to_string();
        assert_eq!(error, "a.txt:3:1  found \"x\", expected a number");
    }

    #[test]
    fn a_file_with_one_column_lists_sizes() {
        let list = parse("a.txt", "# of a week\nbytes\n3\n1kB\n\n3\n2\n".into()).unwrap();
        assert_eq!((list.listed, list.sizes.mean()), (Some(4), (3.0 + 1000.0 + 3.0 + 2.0) / 4.0));
        assert_eq!(parse("a.txt", "1500\n".into()).unwrap().sizes, Sizes::constant(Bytes::new(1500)));
        let error = |text: &str| parse("a.txt", text.into()).expect_err("refused").to_string();
        assert_eq!(error("3\n0\n"), "a.txt:2:1  a flow of 0 B, expected 1 B to 1048576 TiB");
        assert_eq!(error("3\n4\n5 6\n"), "a.txt:3:1  a row with 2 fields, expected 1: bytes");
        assert_eq!(
            error("bytes\n"),
            "a.txt is no size distribution: a distribution needs at least one point"
        );
    }

    #[test]
    fn points_whose_mean_depends_on_what_lies_between_them_are_warned_of() {
        let file = SizeSource::File("a.csv".into());
        let doubt = |text: &str, source| parse("a.csv", text.into()).unwrap().doubt(source, "web");
        let coarse = doubt("0,0\n1000,0.5\n9000,1\n", &file).expect("5000 B with steps, 2750 B with lines");
        assert!(coarse.message.contains("2.8 kB") && coarse.message.contains("5.0 kB"), "{coarse}");
        assert_eq!(coarse.code, Code::CoarseSizes);
        // Steps that are written out leave no doubt, nor do points that lie close.
        assert_eq!(doubt("1000,0\n1000,0.5\n9000,0.5\n9000,1\n", &file), None);
        assert_eq!(doubt("9000,0\n9800,1\n", &file), None);
        assert_eq!(BUILT_IN[0].load().doubt(&SizeSource::Websearch, "web"), None);
    }

    #[test]
    fn a_constant_size_leaves_room_for_sums() {
        let load = |size| load(&SizeSource::Constant(size), |_| unreachable!("it is no file"));
        assert!(load(ENDLESS).is_ok());
        assert!(load(Bytes::MAX).is_err());
    }

    #[test]
    fn mistakes_are_shown_where_they_are() {
        let error = |text: &str| parse("a.csv", text.into()).expect_err("refused").to_string();
        assert_eq!(error("0,0\nx,1\n"), "a.csv:2:1  found \"x\", expected a number");
        assert_eq!(
            error("0,0\n9,0.5\n5,1\n"),
            "a.csv:3:1  a.csv is no size distribution: size falls from 9 to 5"
        );
        assert_eq!(
            error("0,0\n9,0.5\n"),
            "a.csv:2:3  a.csv is no size distribution: the last probability is 0.5, expected 1\n  \
             the last probability is 1, or 100 if all are percent"
        );
        assert_eq!(error("0,0\n1e300,1\n"), "a.csv:2:1  a flow of 1e300 B, expected at most 1048576 TiB");
        assert_eq!(error(""), "a.csv is no size distribution: a distribution needs at least one point");
    }
}
