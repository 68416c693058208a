//! The requests that the kernel of a real device answered otherwise than the software device beside it.

use gem_coherency_server::Disagreement;
use serde::Serialize;

/// A request with two answers.
#[derive(Clone, Debug, Serialize)]
pub struct DisagreementRow {
    /// The code, as ioctl(2) takes it.
    pub code: String,
    /// The name in the kernel's headers.
    pub name: Option<&'static str>,
    /// The errno of the software device; `None` if it accepted the request.
    pub software: Option<String>,
    /// The errno of the kernel; `None` if it accepted the request.
    pub kernel: Option<String>,
    /// How often this happened.
    pub count: u64,
}

impl DisagreementRow {
    /// Returns the row of a disagreement.
    pub fn of(found: &Disagreement) -> Self {
        Self {
            code: format!("{:#010x}", found.code),
            name: found.name,
            software: found.software.map(|errno| errno.to_string()),
            kernel: found.kernel.map(|errno| errno.to_string()),
            count: found.count,
        }
    }
}
