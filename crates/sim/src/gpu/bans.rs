//! Guilt for hangs and its consequences (`mark_guilty`, `client_mark_guilty`).
//!
//! A context is banned from the engine of its last hang after three hangs within two minutes; one that is not
//! recoverable, after its first hang; one that is not bannable, never. On a banned engine EXECBUFFER2 fails
//! with EIO. A file's hangs and bans add to its score; above a limit it cannot create contexts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::commands::registers::Values;
use super::engines::Lane;
use super::pipeline::Images;
use crate::kernel::counterpart::Counterpart;
use gem_coherency::platform::EngineClass;
use gem_coherency::sync::Mutex;

/// Three hangs within this time ban a context (`CONTEXT_FAST_HANG_JIFFIES`).
const CONTEXT_FAST: Duration = Duration::from_secs(120);
/// A hang within this time after the previous one, or after the file was opened, adds to the score
/// (`I915_CLIENT_FAST_HANG_JIFFIES`).
const CLIENT_FAST: Duration = Duration::from_secs(60);
/// The score of such a hang (`I915_CLIENT_SCORE_HANG_FAST`).
const SCORE_HANG: u32 = 1;
/// The score of a banned context (`I915_CLIENT_SCORE_CONTEXT_BAN`).
const SCORE_BAN: u32 = 3;
/// The score from which on a file is banned (`I915_CLIENT_SCORE_BANNED`).
const SCORE_BANNED: u32 = 9;

/// A context's hangs and bans, and what it keeps between batches.
#[derive(Debug, Default)]
pub(crate) struct Standing {
    hangs: Mutex<Hangs>,
    /// The state of the pipelines.
    pub(super) images: Images,
    registers: Mutex<BTreeMap<Lane, Values>>,
    /// The context of a real GPU.
    pub(crate) counterpart: Counterpart,
}

#[derive(Debug, Default)]
struct Hangs {
    /// The context's batches that hung (`guilty_count`).
    guilty: u32,
    /// The times of the last two hangs, older first.
    last: [Option<Instant>; 2],
    banned: BTreeSet<Lane>,
    /// The context was closed, and its batches do not outlive it.
    revoked: bool,
    /// The timeline of each queue, or of all: its number, and that of the last submission.
    timelines: BTreeMap<Option<Lane>, (u64, u64)>,
}

/// Number of timelines of all contexts.
static TIMELINES: AtomicU64 = AtomicU64::new(0);

/// A file's hang score (`struct drm_i915_file_private`), and the times of its batches.
#[derive(Debug)]
pub(crate) struct Client {
    score: Mutex<Score>,
    /// Nanoseconds by class of engine.
    busy: [AtomicU64; EngineClass::ALL.len()],
}

#[derive(Debug)]
struct Score {
    /// The time when the file last hung or was opened.
    last: Instant,
    score: u32,
}

impl Default for Client {
    fn default() -> Self {
        Self { score: Mutex::new(Score { last: Instant::now(), score: 0 }), busy: Default::default() }
    }
}

impl Client {
    /// Returns whether the file cannot create contexts (`client_is_banned`).
    pub(crate) fn is_banned(&self) -> bool {
        self.score.lock().score >= SCORE_BANNED
    }

    /// Adds the time of a batch on an engine of a class.
    pub(super) fn ran(&self, class: EngineClass, time: Duration) {
        if let Some(busy) = self.busy.get(usize::from(class.number())) {
            // Relaxed: a statistic.
            busy.fetch_add(time.as_nanos() as u64, Ordering::Relaxed);
        }
    }

    /// Returns the time of the file's batches on engines of a class.
    pub(crate) fn busy(&self, class: EngineClass) -> Duration {
        let busy = self.busy.get(usize::from(class.number()));
        busy.map_or(Duration::ZERO, |busy| Duration::from_nanos(busy.load(Ordering::Relaxed)))
    }

    fn guilty(&self, banned: bool, now: Instant) {
        let mut score = self.score.lock();
        let fast = now.saturating_duration_since(score.last) < CLIENT_FAST;
        score.last = now;
        score.score += if banned { SCORE_BAN } else { 0 } + if fast { SCORE_HANG } else { 0 };
    }
}

impl Standing {
    /// Takes the registers that the last batch of a queue left.
    pub(super) fn take_registers(&self, lane: Lane) -> Values {
        self.registers.lock().remove(&lane).unwrap_or_default()
    }

    /// Keeps a queue's registers for its next batch. Those of a new context need no entry.
    pub(super) fn keep_registers(&self, lane: Lane, values: Values) {
        if !values.are_new() {
            self.registers.lock().insert(lane, values);
        }
    }

    /// Returns whether the context is banned from this queue (`intel_context_is_banned`).
    pub(crate) fn is_banned(&self, lane: Lane) -> bool {
        self.hangs.lock().banned.contains(&lane)
    }

    /// Cancels the context's batches, because it is closed and not persistent (`kill_context`).
    pub(crate) fn revoke(&self) {
        self.hangs.lock().revoked = true;
    }

    /// Returns how many batches hung (`batch_active` of GET_RESET_STATS).
    pub(crate) fn guilty_count(&self) -> u32 {
        self.hangs.lock().guilty
    }
}

/// The context, file and queue of a batch.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) context: Arc<Standing>,
    pub(crate) file: Arc<Client>,
    pub(crate) lane: Lane,
    pub(crate) bannable: bool,
    pub(crate) recoverable: bool,
    /// The context has one timeline for all of its queues (`I915_CONTEXT_CREATE_FLAGS_SINGLE_TIMELINE`).
    pub(crate) single_timeline: bool,
}

impl Owner {
    /// Returns the timeline of its submissions; `None` before the first one.
    pub(super) fn timeline(&self) -> Option<u64> {
        let lane = (!self.single_timeline).then_some(self.lane);
        self.context.hangs.lock().timelines.get(&lane).map(|&(timeline, _)| timeline)
    }

    /// Returns the timeline of the next submission, and its place there.
    pub(super) fn next_on_timeline(&self) -> (u64, u64) {
        let mut hangs = self.context.hangs.lock();
        let lane = (!self.single_timeline).then_some(self.lane);
        // Relaxed: a unique number; it publishes no other data.
        let made = || (TIMELINES.fetch_add(1, Ordering::Relaxed) + 1, 0);
        let timeline = hangs.timelines.entry(lane).or_insert_with(made);
        timeline.1 += 1;
        *timeline
    }

    /// Returns whether batches that have not ended are cancelled.
    pub(super) fn is_cancelled(&self) -> bool {
        let hangs = self.context.hangs.lock();
        hangs.revoked || hangs.banned.contains(&self.lane)
    }

    /// Returns whether the queue is banned, in which case its batches are cancelled.
    pub(crate) fn is_banned(&self) -> bool {
        self.context.is_banned(self.lane)
    }

    /// Records a hang of the batch.
    pub(super) fn guilty(&self, now: Instant) {
        let mut hangs = self.context.hangs.lock();
        hangs.guilty = hangs.guilty.saturating_add(1);
        if !self.bannable {
            return;
        }
        let [before, last] = hangs.last;
        hangs.last = [last, Some(now)];
        let fast = before.is_some_and(|before| now.saturating_duration_since(before) < CONTEXT_FAST);
        let banned = fast || !self.recoverable;
        if banned {
            hangs.banned.insert(self.lane);
        }
        self.file.guilty(banned, now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gem_coherency::platform::{Engine, EngineClass};

    const COPY: Lane = Lane::Default(Engine { class: EngineClass::Copy, instance: 0 });
    const RENDER: Lane = Lane::Default(Engine { class: EngineClass::Render, instance: 0 });

    fn owner(lane: Lane) -> Owner {
        let (context, file) = (Arc::default(), Arc::default());
        Owner { context, file, lane, bannable: true, recoverable: true, single_timeline: false }
    }

    #[test]
    fn the_third_hang_within_two_minutes_bans_from_its_engine() {
        let (one, start) = (owner(COPY), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        one.guilty(after(0));
        one.guilty(after(1));
        assert!(!one.is_banned());
        one.guilty(after(119));
        assert!(one.is_banned() && !one.context.is_banned(RENDER));
        Owner { lane: RENDER, ..one.clone() }.guilty(after(119));
        assert!(one.context.is_banned(RENDER), "the next hang, on whatever engine, is one too many");
        assert_eq!(one.context.guilty_count(), 4);

        let slow = owner(COPY);
        for hang in 0..9 {
            slow.guilty(after(61 * hang));
        }
        assert!(!slow.is_banned() && !slow.file.is_banned(), "the third hang is after 122 s");
    }

    #[test]
    fn a_context_that_does_not_recover_is_banned_at_once_and_one_that_cannot_be_never() {
        let once = Owner { recoverable: false, ..owner(COPY) };
        once.guilty(Instant::now());
        assert!(once.is_banned());
        let cool = Owner { bannable: false, recoverable: false, ..owner(COPY) };
        for _ in 0..9 {
            cool.guilty(Instant::now());
        }
        assert!(!cool.is_banned() && !cool.file.is_banned());
        assert_eq!(cool.context.guilty_count(), 9);
    }

    #[test]
    fn a_file_with_two_bans_in_a_minute_gets_no_new_contexts() {
        let (one, now) = (owner(COPY), Instant::now());
        for _ in 0..3 {
            one.guilty(now);
        }
        assert!(!one.file.is_banned(), "three hangs and a ban are 6");
        Owner { lane: RENDER, ..one.clone() }.guilty(now);
        assert!(one.file.is_banned(), "four hangs and two bans are 10");
    }
}
