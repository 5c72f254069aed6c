use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Whose defaults settings have that are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[schemars(rename = "Profile")]
pub enum Profile {
    /// Linux 6.12.
    #[serde(rename = "linux-6.12")]
    Linux6_12,
    /// Linux 4.9.
    #[serde(rename = "linux-4.9")]
    Linux4_9,
    /// NVIDIA ConnectX-6 Dx, for RDMA.
    #[serde(rename = "connectx-6-dx")]
    ConnectX6Dx,
}

/// Reads settings that `false` turns off where a profile would turn them on.
pub(super) fn or_false<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    from.deserialize_any(OrFalse(PhantomData))
}

struct OrFalse<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for OrFalse<T> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table, or false")
    }

    fn visit_bool<E: serde::de::Error>(self, on: bool) -> Result<Self::Value, E> {
        if on { Err(E::invalid_type(serde::de::Unexpected::Bool(on), &self)) } else { Ok(None) }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(Some)
    }
}
