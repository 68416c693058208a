//! A program that the judge asks during its request.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use gem_coherency::units::LineRange;
use gem_coherency_protocol::{Call, Frame};
use gem_coherency_sim::SimDevice;

use super::client::Client;
use super::session::Session;
use crate::judge::Program;

/// The program of a client whose request came on a connection.
pub(crate) struct Asked<'a> {
    pub(crate) session: &'a Session,
    pub(crate) client: &'a Client,
    pub(crate) connection: &'a Arc<OwnedFd>,
}

impl Asked<'_> {
    /// Ends the program in the thread that made the request.
    pub(crate) fn halt(&self) {
        self.client.ask(self.connection, &Call::Halt.with([]));
    }

    /// Tells the program which lines have become stale since its last request.
    pub(crate) fn tell_stale(&self) {
        for (object, lines) in self.client.take_stale().0 {
            for lines in lines {
                self.client.ask(self.connection, &Call::Stale.with([object, lines.first(), lines.end()]));
            }
        }
    }
}

impl Program for Asked<'_> {
    fn devices(&self) -> &[SimDevice] {
        &self.session.devices
    }

    fn stack(&self) -> Vec<Frame> {
        self.client.ask(self.connection, &Call::Stack.with([]))
    }

    fn see_loads(&self, device: &SimDevice, object: u64, lines: &[LineRange]) -> bool {
        let alone = !self.client.with(self.connection, |process| device.is_mapped_by_others(object, process));
        for lines in lines.iter().filter(|_| alone) {
            self.client.ask(self.connection, &Call::SeeLoads.with([object, lines.first(), lines.end()]));
        }
        alone
    }

    fn note_stale(&self, object: u64, lines: &[LineRange]) {
        self.session.each_client(|client| client.note_stale(object, lines));
    }
}
