//! `serde::Serialize` for versions, as tools print them.

use serde::{Serialize, Serializer};

use crate::platform::GraphicsVersion;
use crate::vocabulary::KernelVersion;

impl Serialize for KernelVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for GraphicsVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
