use std::fmt;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;

use super::{Maker, Settings, Uses};
use crate::cc::{Algorithm, Controller, Path};

/// Makes controllers of an [`Algorithm`] that is defined outside of this crate, in the same way as those inside.
///
/// ```
/// use narrows_proto::cc::custom::{Maker, Outside, Settings};
/// use narrows_proto::cc::dctcp::Dctcp;
///
/// let maker = Outside::<Dctcp>::new("1");
/// assert_eq!(maker.check(&Settings::default()), Ok(()));
/// ```
pub struct Outside<A> {
    version: String,
    algorithm: PhantomData<fn() -> A>,
}

impl<A> Outside<A> {
    /// `version` changes whenever the code does: see [`Maker::version`].
    pub fn new(version: impl Into<String>) -> Self {
        Self { version: version.into(), algorithm: PhantomData }
    }
}

impl<A> fmt::Debug for Outside<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outside").field("version", &self.version).finish_non_exhaustive()
    }
}

impl<A> Maker for Outside<A>
where
    A: Algorithm + Send + 'static,
    A::Params: DeserializeOwned,
{
    fn check(&self, settings: &Settings) -> Result<(), String> {
        A::check(&settings.read()?, &mut crate::cc::Ranges::default()).map_err(|error| error.to_string())
    }

    fn version(&self) -> String {
        self.version.clone()
    }

    fn uses(&self, settings: &Settings) -> Uses {
        Uses {
            ecn: A::ecn(&read::<A>(settings)),
            reads_delay: A::READS_DELAY,
            needs_rdma: A::NEEDS_RDMA,
            reads_telemetry: A::TELEMETRY,
            needs_rack: A::NEEDS_RACK,
        }
    }

    fn make(&self, settings: &Settings, path: &Path) -> Box<dyn Controller + Send> {
        Box::new(A::new(&read::<A>(settings), path))
    }
}

/// Settings that were accepted.
fn read<A: Algorithm<Params: DeserializeOwned>>(settings: &Settings) -> A::Params {
    settings.read().expect("settings that were refused are not used")
}
