//! Help, manual pages, the keys of JSON, and the examples of the documents.

pub(crate) mod docs;
pub(crate) mod guide;
pub(crate) mod help;
pub(crate) mod json;
pub(crate) mod manual;
