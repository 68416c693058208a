//! Findings when they happen.

use std::fmt;
use std::sync::Arc;

use gem_coherency::sync::Mutex;
use gem_coherency_sanitizer::{Finding, Listener};

use crate::rows::findings::FindingRow;
use crate::rows::places::Places;
use crate::sanitized::Accepted;

/// Is called with a finding.
type Show = dyn Fn(&FindingRow) + Send + Sync;

/// Shows findings when they happen, and halts programs at them. Those that are suppressed or known do neither.
#[derive(Clone)]
pub struct Live {
    accepted: Accepted,
    halts: bool,
    show: Option<Arc<Show>>,
    places: Arc<Mutex<Places>>,
    test: Option<String>,
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Live").field("halts", &self.halts).field("test", &self.test).finish_non_exhaustive()
    }
}

impl Live {
    /// Creates one that calls `show`, and halts the program if `halts`.
    #[must_use]
    pub fn new(accepted: Accepted, halts: bool, show: Option<Arc<Show>>) -> Self {
        Self { accepted, halts, show, places: Arc::new(Mutex::new(Places::new())), test: None }
    }

    /// Returns one for a test.
    pub(crate) fn of_test(&self, name: &str) -> Self {
        Self { test: Some(name.to_owned()), ..self.clone() }
    }
}

impl Listener for Live {
    fn hear(&self, finding: &Finding) -> bool {
        let mut row = self.places.lock().finding(finding);
        if self.accepted.accepts(&row) {
            return false;
        }
        row.halted = self.halts;
        row.tests.extend(self.test.clone());
        if let Some(show) = &self.show {
            show(&row);
        }
        self.halts
    }
}
