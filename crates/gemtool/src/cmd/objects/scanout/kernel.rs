//! The kernel's flushes of the buffers, compared with those that the rules predict.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use gem_coherency::device::Device;
use gem_coherency::platform::Machine;
use gem_coherency::policy::kernel::{Creation, Event, KernelRules, Snapshot, step};
use gem_coherency::vocabulary::{CacheLevel, CachingMode, Handle};
use gem_coherency_sim::SimDevice;
use gemtool::kernel_trace::{Attribution, Kind, Shape, Tracer};

use super::report::{KernelLine, KernelStep, Known};
use crate::failure::Failure;

/// Time that the kernel's workers may take for a flush that waits for fences.
const GRACE: Duration = Duration::from_millis(500);
/// Interval between reads of the trace meanwhile.
const PERIOD: Duration = Duration::from_millis(5);

/// The source of the kernel's flushes.
#[derive(Debug)]
enum FlushSource {
    Software(Arc<SimDevice>),
    Trace(Box<Trace>),
    None {
        why: String,
    },
    /// The driver is xe, which flushes no line of the CPU's cache.
    Never,
}

/// The kernel's trace.
#[derive(Debug)]
struct Trace {
    tracer: Tracer,
    attribution: Attribution,
    /// The buffers' kernel addresses.
    objects: BTreeMap<Handle, u64>,
}

/// The kernel's actions and the rules' predictions.
#[derive(Debug)]
pub struct Kernel {
    machine: Machine,
    rules: KernelRules,
    source: FlushSource,
    /// The buffers' states by the rules.
    states: BTreeMap<Handle, Snapshot>,
}

impl Kernel {
    /// Opens the best source of flushes that the device offers.
    pub fn new(device: &Device, soft: Option<Arc<SimDevice>>) -> Self {
        let source = match soft {
            Some(soft) => FlushSource::Software(soft),
            None if device.xe().is_some() => FlushSource::Never,
            None => match Tracer::start() {
                Ok(tracer) => {
                    let (attribution, objects) = (Attribution::new(), BTreeMap::new());
                    FlushSource::Trace(Box::new(Trace { tracer, attribution, objects }))
                }
                Err(why) => FlushSource::None { why: why.to_string() },
            },
        };
        Self { machine: *device.machine(), rules: *device.rules(), source, states: BTreeMap::new() }
    }

    /// Returns the source of the flushes.
    pub fn known(&self) -> Known {
        match &self.source {
            FlushSource::Software(_) => Known::Simulated,
            FlushSource::Trace(_) => Known::Traced,
            FlushSource::None { why } => Known::Predicted(why.clone()),
            FlushSource::Never => Known::Never,
        }
    }

    /// Begins a step: drops the flushes seen so far.
    ///
    /// # Errors
    /// The errors of reading the trace.
    pub fn begin(&mut self) -> Result<(), Failure> {
        match &mut self.source {
            FlushSource::Software(soft) => drop(soft.take_kernel_flushes()),
            FlushSource::Trace(trace) => {
                trace.read()?;
                trace.attribution.finish();
            }
            FlushSource::None { .. } | FlushSource::Never => {}
        }
        Ok(())
    }

    /// Adds a buffer that was created since [`Self::begin`]. If the trace does not show its creation, flushes
    /// are only predicted from then on.
    ///
    /// # Errors
    /// The errors of reading the trace, and the error that the rules have no such object on this platform.
    pub fn created(&mut self, handle: Handle) -> Result<(), Failure> {
        if let FlushSource::Never = self.source {
            return Ok(());
        }
        let created = Snapshot::created(self.machine.caps, &self.rules, Creation::User);
        let refused =
            |_| Failure::Environment("the rules have no userspace object on this platform".to_owned());
        self.states.insert(handle, created.map_err(refused)?);
        let FlushSource::Trace(trace) = &mut self.source else { return Ok(()) };
        trace.read()?;
        let named = trace.attribution.finish().into_iter().flat_map(|call| call.named).next();
        match named {
            Some(object) => {
                trace.objects.insert(handle, object);
            }
            None => {
                let why = "the kernel's trace does not show the creation of an object".to_owned();
                self.source = FlushSource::None { why };
            }
        }
        Ok(())
    }

    /// Returns the kernel's actions on a buffer since [`Self::begin`], given the events of that buffer and
    /// that of the buffer that it replaces.
    ///
    /// # Errors
    /// The errors of reading the trace.
    pub fn ended(
        &mut self,
        handle: Handle,
        events: &[Event],
        other: Option<(Handle, Event)>,
        caching: Option<CachingMode>,
    ) -> Result<KernelStep, Failure> {
        let mut predicted = Vec::new();
        let mut done = KernelStep { events: events.to_vec(), ..KernelStep::default() };
        for (object, event) in events.iter().map(|&event| (handle, event)).chain(other) {
            let Some(&state) = self.states.get(&object) else { continue };
            match step(self.machine.caps, &self.rules, state, event) {
                Ok(next) => {
                    self.states.insert(object, next.next);
                    if object == handle {
                        done.rule = Some(next.rule);
                        predicted.extend(next.effects.iter().filter_map(|effect| {
                            let shape = Shape::of(effect.action)?;
                            Some(KernelLine { shape, rule: Some(effect.rule) })
                        }));
                    }
                }
                Err(refusal) => done.rule = Some(refusal.rule),
            }
        }
        done.flushes = match &mut self.source {
            FlushSource::Software(soft) => soft
                .take_kernel_flushes()
                .into_iter()
                .filter(|flush| flush.handle.is_none_or(|flushed| flushed == handle))
                .filter_map(|flush| {
                    Some(KernelLine { shape: Shape::of(flush.action)?, rule: Some(flush.rule) })
                })
                .collect(),
            FlushSource::Trace(trace) => {
                let shapes = trace.flushes(handle, predicted.len())?;
                let mut rules = predicted.clone();
                let mut rule_of = |shape| {
                    let place = rules.iter().position(|line| line.shape == shape)?;
                    rules.remove(place).rule
                };
                shapes.into_iter().map(|shape| KernelLine { shape, rule: rule_of(shape) }).collect()
            }
            FlushSource::None { .. } | FlushSource::Never => predicted.clone(),
        };
        done.mismatch = self.mismatch(handle, &done, &predicted, caching);
        Ok(done)
    }

    /// Returns the difference between the actions and the rules' predictions.
    fn mismatch(
        &self,
        handle: Handle,
        done: &KernelStep,
        predicted: &[KernelLine],
        caching: Option<CachingMode>,
    ) -> Option<String> {
        let shapes = |lines: &[KernelLine]| {
            let mut shapes: Vec<_> = lines.iter().map(|line| line.shape.name()).collect();
            shapes.sort_unstable();
            shapes
        };
        let words =
            |shapes: &[&str]| if shapes.is_empty() { "nothing".to_owned() } else { shapes.join(", ") };
        let (seen, expected) = (shapes(&done.flushes), shapes(predicted));
        if seen != expected {
            return Some(format!("the kernel flushed {}, the rules say {}", words(&seen), words(&expected)));
        }
        let level = self.states.get(&handle)?.level;
        let mode = match level {
            CacheLevel::None => CachingMode::None,
            CacheLevel::Llc | CacheLevel::L3Llc => CachingMode::Cached,
            CacheLevel::Wt => CachingMode::Display,
        };
        let said = caching.filter(|&said| said != mode)?;
        Some(format!("GET_CACHING says {said}, the rules say {mode}"))
    }
}

impl Trace {
    fn read(&mut self) -> Result<(), Failure> {
        for seen in self.tracer.take()? {
            self.attribution.feed(&seen);
        }
        Ok(())
    }

    /// Returns the flushes of a buffer; waits for as many as are predicted.
    fn flushes(&mut self, handle: Handle, predicted: usize) -> Result<Vec<Shape>, Failure> {
        let object = self.objects.get(&handle).copied();
        let start = Instant::now();
        let mut shapes = Vec::new();
        loop {
            self.read()?;
            for flush in self.attribution.finish().into_iter().flat_map(|call| call.flushes) {
                let shape = match flush.kind {
                    Kind::Whole { .. } if flush.asynchronous => Shape::Deferred,
                    Kind::Whole { .. } => Shape::Whole,
                    Kind::Range { .. } => Shape::Bytes,
                    Kind::Wbinvd => Shape::Wbinvd,
                };
                if flush.object.is_none() || flush.object == object {
                    shapes.push(shape);
                }
            }
            // Waits at least one period, for flushes that are not predicted.
            let waited = start.elapsed();
            if waited >= GRACE || (shapes.len() >= predicted && waited >= PERIOD) {
                return Ok(shapes);
            }
            std::thread::sleep(PERIOD);
        }
    }
}
