//! The tests of a suite, each with a judge.

use std::sync::Arc;

use gem_coherency::sync::Mutex;
use gem_coherency_sanitizer::{JudgingPlatform, Listener, Sanitizer};
use gem_coherency_server::{Ended, Judge, Session, Suite, Test};

use crate::collection::Collection;
use crate::live::Live;

/// Collects what the judges of tests find.
#[derive(Debug)]
pub struct Tests {
    judges: Vec<JudgingPlatform>,
    live: Option<Arc<Live>>,
    collection: Arc<Mutex<Collection>>,
}

impl Tests {
    /// Creates the collector of tests that the platforms in `judges` judge, or if there are none the devices' own, and whose findings
    /// `live` hears of.
    #[must_use]
    pub fn new(judges: &[JudgingPlatform], live: Option<Arc<Live>>) -> Self {
        let collection = Collection::new(!judges.is_empty());
        Self { judges: judges.to_vec(), live, collection: Arc::new(Mutex::new(collection)) }
    }

    /// Returns what was collected so far.
    #[must_use]
    pub fn take(&self) -> Collection {
        std::mem::replace(&mut *self.collection.lock(), Collection::new(!self.judges.is_empty()))
    }
}

impl Suite for Tests {
    fn begin(&self, name: &str) -> Box<dyn Test> {
        let listener = self.live.as_ref().map(|live| live.of_test(name));
        let listener = listener.map(|live| Arc::new(live) as Arc<dyn Listener>);
        let sanitizer = Arc::new(Sanitizer::new(&self.judges, false, listener));
        Box::new(Judged { name: name.to_owned(), sanitizer, collection: Arc::clone(&self.collection) })
    }
}

/// A test that runs.
#[derive(Debug)]
struct Judged {
    name: String,
    sanitizer: Arc<Sanitizer>,
    collection: Arc<Mutex<Collection>>,
}

impl Test for Judged {
    fn judge(&self) -> Arc<dyn Judge> {
        self.sanitizer.clone()
    }

    fn end(&self, session: &Session, ended: Ended) {
        self.collection.lock().add(session, &self.sanitizer, Some((&self.name, ended)));
    }
}
