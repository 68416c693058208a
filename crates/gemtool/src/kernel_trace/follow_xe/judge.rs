//! Compares answers and flushes with the rules.

use gem_coherency::Errno;
use gem_coherency::xe::{self, BindOp, CpuCaching, Object, Refusal, Rule};

use super::follower::{Window, XeFollower};
use super::pages::{Population, bytes};
use super::row::{Answer, Asked, FlushRow, RequestRow, XeShape};
use super::space::{Bound, Space};
use crate::kernel_trace::xe::{Bind, Field, Operation, Request, Untold, XeCall};
use crate::kernel_trace::{TraceEvent, Verdict};

/// The reasons why there is no verdict.
mod unknown {
    pub(super) const OBJECT: &str = "its object is older than the trace, or no object";
    pub(super) const SPACE: &str = "its address space is older than the trace, or none";
    pub(super) const OPERATIONS: &str = "a VM_BIND has more operations than the trace shows";
    pub(super) const ARRAY: &str =
        "the array of operations could not be read, is zero, or changed during the call";
    pub(super) const EARLIER: &str =
        "the operations of an earlier VM_BIND in its address space are not known";
    pub(super) const OUTSIDE: &str =
        "the rules do not cover this errno: memory, a signal, a lost device, a wrong handle";
    pub(super) const FENCES: &str = "refused after the rules' checks: its fences, or the binding itself";
    pub(super) const MANY_FENCES: &str =
        "num_syncs: the kernel refuses as many fences before the rules' checks";
    pub(super) const EXTENSIONS: &str = "extensions is not 0: it may be refused";
    pub(super) const QUEUE: &str = "exec_queue_id is not 0: the queue may be refused";
    pub(super) const RESERVED: &str = "pad, pad2 or reserved is not 0: it may be refused";
    pub(super) const OPERATION_EXTENSIONS: &str = "extensions of an operation is not 0: it may be refused";
    pub(super) const OPERATION_RESERVED: &str =
        "pad, pad2 or reserved of an operation is not 0: it may be refused";
    pub(super) const POOL: &str = "its pages may come from the pool: debugfs does not say what is in it";
}

/// A request beside its prediction.
struct Compared {
    asked: Asked,
    handle: Option<u32>,
    object: Option<u64>,
    bytes: Option<u64>,
}

/// What the rules predict: success or a refusal, or why they cannot say.
type Predicted = Result<Result<(), Refusal>, &'static str>;

impl XeFollower {
    /// Ends a call: compares its answer, and the flushes inside it.
    pub(super) fn end(&mut self, seen: &TraceEvent, window: Window, result: i32, words: &[u64]) {
        let count = self.counts.call(window.call);
        count.calls += 1;
        let answer = if window.call == XeCall::Fault { Answer::Accepted } else { Answer::of(result) };
        if answer != Answer::Accepted {
            count.refused += 1;
        }
        self.compare_request(seen, &window, answer);
        for population in &window.populations {
            self.compare_pages(seen, Some(window.call), population);
        }
        for &time_ns in &window.lines {
            self.unpredicted_lines(seen, &window, time_ns);
        }
        if answer == Answer::Accepted {
            self.accepted(&window, words);
        }
    }

    /// Compares the answer to a request.
    fn compare_request(&mut self, seen: &TraceEvent, window: &Window, answer: Answer) {
        match &window.request {
            Request::Create { create, space } => {
                let predicted = Ok(self.device.create(create).map(drop));
                let asked = Asked {
                    caching: CpuCaching::ALL.iter().copied().find(|it| it.number() == create.cpu_caching),
                    placement: Some(create.placement),
                    flags: Some(create.flags.bits()),
                    ..Asked::default()
                };
                let object = window.named;
                let handle = object.and_then(|object| self.objects.get(&object)?.handle);
                let compared = Compared { asked, handle, object, bytes: Some(create.size) };
                let outside = if *space == 0 { None } else { Some(unknown::SPACE) };
                self.request(seen, window.call, compared, answer, predicted, outside);
            }
            Request::MapOffset { handle, flags, reserved } => {
                let object = self.handles.get(&(window.file, *handle)).copied();
                let predicted = Ok(self.device.map_offset(*handle, *flags, *reserved));
                let asked = Asked { flags: Some(flags.bits()), ..Asked::default() };
                let compared = Compared { asked, handle: Some(*handle), object, bytes: None };
                let outside = object.is_none().then_some(unknown::OBJECT);
                self.request(seen, window.call, compared, answer, predicted, outside);
            }
            Request::Bind(bind) => self.bind(seen, window, bind, answer),
            Request::AdvisePat { space, start, range, pat_index, reserved } => {
                let predicted = self.advise(window.file, *space, *start, *range, *pat_index, *reserved);
                let asked = Asked { address: Some(*start), pat_index: *pat_index, ..Asked::default() };
                let compared = Compared { asked, handle: None, object: None, bytes: Some(*range) };
                self.request(seen, window.call, compared, answer, predicted, None);
            }
            Request::VmDestroy { .. } | Request::Other => {}
        }
    }

    /// Compares the answer to a VM_BIND, an operation a row; if they are not known, all in one.
    fn bind(&mut self, seen: &TraceEvent, window: &Window, bind: &Bind, answer: Answer) {
        let operations = match &bind.operations {
            Ok(operations) => operations,
            Err(untold) => {
                let asked = Asked { operations: Some(bind.count), ..Asked::default() };
                let compared = Compared { asked, handle: None, object: None, bytes: None };
                self.request(seen, window.call, compared, answer, Err(reason(*untold)), None);
                return;
            }
        };
        let mut predicted = self.predict_bind(window.file, bind.space, operations);
        if matches!(answer, Answer::Refused(_)) {
            if bind.other == Some(Field::Fences) {
                predicted = Err(unknown::MANY_FENCES);
            } else if window.fence && predicted == Ok(Ok(())) {
                // The kernel's checks come before the fences.
                predicted = Err(unknown::FENCES);
            }
        }
        let outside = bind.other.map(refusable);
        for operation in operations {
            let object = self.handles.get(&(window.file, operation.handle)).copied();
            let asked = Asked {
                operation: BindOp::ALL.get(operation.op as usize).copied(),
                flags: Some(operation.flags.bits()),
                address: Some(operation.address),
                pat_index: Some(operation.pat_index),
                ..Asked::default()
            };
            let handle = (operation.handle != 0).then_some(operation.handle);
            let compared = Compared { asked, handle, object, bytes: Some(operation.range) };
            self.request(seen, window.call, compared, answer, predicted, outside);
        }
    }

    /// Predicts the answer to a VM_BIND.
    fn predict_bind(&self, file: u64, space: u32, operations: &[Operation]) -> Predicted {
        let space = self.spaces.get(&(file, space)).ok_or(unknown::SPACE)?;
        let objects: Vec<Option<Object>> = operations
            .iter()
            .map(|operation| match operation.handle {
                0 => Ok(None),
                handle => {
                    let object =
                        self.handles.get(&(file, handle)).and_then(|object| self.objects.get(object));
                    object.and_then(|object| object.described).map(Some).ok_or(unknown::OBJECT)
                }
            })
            .collect::<Result<_, _>>()?;
        let operations: Vec<_> = operations
            .iter()
            .zip(&objects)
            .map(|(operation, object)| xe::Bind {
                op: operation.op,
                flags: operation.flags,
                object: object.as_ref(),
                offset: operation.offset,
                address: operation.address,
                range: operation.range,
                pat_index: operation.pat_index,
                region: operation.region,
            })
            .collect();
        Ok(self.device.bind(&operations, space.faults).map_err(|(_, refusal)| refusal))
    }

    /// Predicts the answer to a MADVISE of a PAT index.
    fn advise(
        &self,
        file: u64,
        space: u32,
        start: u64,
        range: u64,
        pat_index: Option<u16>,
        reserved: bool,
    ) -> Predicted {
        let space = self.spaces.get(&(file, space)).ok_or(unknown::SPACE)?;
        if !space.is_whole {
            return Err(unknown::EARLIER);
        }
        let memory: Vec<_> = space.bound(start, start.saturating_add(range)).collect();
        let described = |address: &u64| self.objects.get(address).and_then(|object| object.described);
        let objects: Vec<Option<Object>> = memory
            .iter()
            .map(|(bound, _)| if let Bound::Object(address) = bound { described(address) } else { None })
            .collect();
        let mut bound = Vec::new();
        for ((memory, is_whole), object) in memory.iter().zip(&objects) {
            bound.push(match (memory, object) {
                (Bound::Object(_), Some(object)) => xe::Bound::Object(object),
                (Bound::Object(_), None) => return Err(unknown::OBJECT),
                (Bound::Userptr, _) if !is_whole => xe::Bound::PartOfProcess,
                (Bound::Userptr | Bound::Mirror, _) => xe::Bound::Process,
                (Bound::Null, _) => continue,
            });
        }
        // Larger numbers are past the table, too.
        let pat_index = pat_index.unwrap_or(u16::MAX);
        Ok(self.device.madvise_pat(start, range, pat_index, reserved, &bound))
    }

    /// Adds the row of a request. `outside`: why a refusal that the rules do not predict may be right.
    fn request(
        &mut self,
        seen: &TraceEvent,
        call: XeCall,
        compared: Compared,
        answer: Answer,
        predicted: Predicted,
        outside: Option<&'static str>,
    ) {
        let rule = predicted.ok().and_then(Result::err).map(|refusal| refusal.rule);
        let expected = predicted.ok().map(|predicted| match predicted {
            Err(refusal) if self.without != Some(refusal.rule) => Answer::Refused(refusal.errno),
            Ok(()) | Err(_) => Answer::Accepted,
        });
        let (verdict, why) = match (expected, answer) {
            (None, _) => (Verdict::NotFollowed, predicted.err()),
            (Some(expected), answer) if expected == answer => (Verdict::Predicted, None),
            (Some(_), Answer::Refused(errno)) if is_outside(errno) => {
                (Verdict::NotFollowed, Some(unknown::OUTSIDE))
            }
            (Some(Answer::Accepted), Answer::Refused(_)) if outside.is_some() && rule.is_none() => {
                (Verdict::NotFollowed, outside)
            }
            (Some(_), Answer::Accepted) => {
                (Verdict::Unpredicted, Some("The kernel accepted what the rules refuse."))
            }
            (Some(Answer::Accepted), Answer::Refused(_)) => {
                (Verdict::Unpredicted, Some("The kernel refused what the rules accept."))
            }
            (Some(Answer::Refused(_)), Answer::Refused(_)) => {
                (Verdict::Unpredicted, Some("The kernel refused it with another errno than the rules."))
            }
        };
        self.counts.requests += 1;
        self.counts.judge(verdict);
        let object =
            compared.object.and_then(|object| self.objects.get(&object)).and_then(|object| object.number);
        self.requests.push(RequestRow {
            time_ns: seen.time_ns,
            tid: seen.tid,
            comm: seen.comm.clone(),
            call,
            object,
            handle: compared.handle,
            bytes: compared.bytes,
            asked: compared.asked,
            answer,
            predicted: expected,
            rule,
            verdict,
            why,
        });
    }

    /// Makes the effects of an accepted request.
    fn accepted(&mut self, window: &Window, words: &[u64]) {
        match &window.request {
            Request::Bind(bind) => {
                let handles = &self.handles;
                let Some(space) = self.spaces.get_mut(&(window.file, bind.space)) else { return };
                space.is_whole &= bind.operations.is_ok();
                for operation in bind.operations.iter().flatten() {
                    space.make(operation, handles.get(&(window.file, operation.handle)).copied());
                }
            }
            // Its event was cut: the address space is not known, either.
            Request::Other if window.call == XeCall::VmBind => {
                let spaces = self.spaces.iter_mut().filter(|((file, _), _)| *file == window.file);
                spaces.for_each(|(_, space)| space.is_whole = false);
            }
            Request::VmDestroy { space } => {
                self.spaces.remove(&(window.file, *space));
            }
            Request::Other if window.call == XeCall::VmCreate => {
                if let Some((space, faults)) = crate::kernel_trace::xe::Sent(words).created_space() {
                    self.spaces.insert((window.file, space), Space::new(faults));
                }
            }
            Request::Create { .. }
            | Request::MapOffset { .. }
            | Request::AdvisePat { .. }
            | Request::Other => {}
        }
    }

    /// Returns whether the rules predict a flush of an object's new pages, and the rule.
    pub(super) fn is_flushed(&self, object: &Object) -> (bool, Rule) {
        let decision = self.device.new_pages(object);
        (decision.verdict == xe::Verdict::Flush && self.without != Some(decision.rule), decision.rule)
    }

    /// Compares the flush of the pages that an object got.
    pub(super) fn compare_pages(&mut self, seen: &TraceEvent, call: Option<XeCall>, population: &Population) {
        let Population { pages, combining, flushed, .. } = *population;
        if let Some(call) = call.filter(|_| flushed != 0) {
            self.counts.call(call).flushes += 1;
        }
        let object = population.object.and_then(|object| self.objects.get(&object));
        let Some(object) = object else {
            if flushed != 0 {
                self.flush(seen, call, population, None, (Verdict::NotFollowed, Some(unknown::OBJECT)));
            }
            return;
        };
        let (Some(described), Some(_)) = (object.described, object.number) else {
            if flushed != 0 {
                self.counts.own_flushes += 1;
                // It may be cached: only what it had in part is known to come from the pool.
                self.pool.take(population.pooled());
            }
            return;
        };
        let (is_flushed, rule) = self.is_flushed(&described);
        let shape = if is_flushed { XeShape::NewPages } else { XeShape::None };
        let (verdict, why, predicted) = if !is_flushed {
            if combining == 0 && flushed == 0 {
                return;
            }
            (Verdict::Unpredicted, Some("The kernel flushed pages that stay cached by the rules."), shape)
        } else if flushed < combining {
            (Verdict::Unseen, Some("Pages became write-combining, and their lines were not flushed."), shape)
        } else {
            let predicted = if combining == 0 && pages != 0 { XeShape::Pool } else { shape };
            match self.pool.take(population.pooled()) {
                Some(true) => (Verdict::Predicted, None, predicted),
                Some(false) => {
                    let why = "The object got pages that were neither flushed nor in the pool.";
                    (Verdict::Unseen, Some(why), shape)
                }
                None => (Verdict::NotFollowed, Some(unknown::POOL), shape),
            }
        };
        self.flush(seen, call, population, Some((predicted, rule)), (verdict, why));
    }

    /// Adds the row of a flush.
    fn flush(
        &mut self,
        seen: &TraceEvent,
        call: Option<XeCall>,
        population: &Population,
        predicted: Option<(XeShape, Rule)>,
        (verdict, why): (Verdict, Option<&'static str>),
    ) {
        let shape = match (population.flushed, predicted) {
            (0, Some((XeShape::Pool, _))) => XeShape::Pool,
            (0, _) => XeShape::None,
            _ => XeShape::NewPages,
        };
        let predicted = predicted.filter(|_| verdict != Verdict::NotFollowed);
        let object = population.object.and_then(|object| self.objects.get(&object));
        self.push(FlushRow {
            time_ns: population.time_ns,
            tid: seen.tid,
            comm: seen.comm.clone(),
            call,
            object: object.and_then(|object| object.number),
            handle: object.and_then(|object| object.handle),
            bytes: Some(bytes(population.pages)),
            flushed_bytes: bytes(population.flushed),
            pooled_bytes: if shape == XeShape::NewPages || shape == XeShape::Pool {
                bytes(population.pooled())
            } else {
                0
            },
            seen: shape,
            predicted: predicted.map(|(shape, _)| shape),
            rule: predicted.map(|(_, rule)| rule),
            verdict,
            why,
        });
    }

    /// Adds the row of a flush by another function.
    fn unpredicted_lines(&mut self, seen: &TraceEvent, window: &Window, time_ns: u64) {
        self.counts.call(window.call).flushes += 1;
        self.push(FlushRow {
            time_ns,
            tid: seen.tid,
            comm: seen.comm.clone(),
            call: Some(window.call),
            object: None,
            handle: None,
            bytes: None,
            flushed_bytes: 0,
            pooled_bytes: 0,
            seen: XeShape::Lines,
            predicted: Some(XeShape::None),
            rule: None,
            verdict: Verdict::Unpredicted,
            why: Some("The kernel flushed lines in a call of xe, outside of an object's new pages."),
        });
    }

    fn push(&mut self, row: FlushRow) {
        if row.seen == XeShape::NewPages || row.seen == XeShape::Lines {
            self.counts.flushes += 1;
        }
        self.counts.judge(row.verdict);
        self.flushes.push(row);
    }
}

/// Returns the reason why there is no verdict on operations that are not known.
const fn reason(untold: Untold) -> &'static str {
    match untold {
        Untold::TooMany => unknown::OPERATIONS,
        Untold::Unread => unknown::ARRAY,
    }
}

/// Returns the reason why a refusal may be due to a field.
const fn refusable(field: Field) -> &'static str {
    match field {
        Field::Fences => unknown::MANY_FENCES,
        Field::Extensions => unknown::EXTENSIONS,
        Field::Queue => unknown::QUEUE,
        Field::Reserved => unknown::RESERVED,
        Field::OperationExtensions => unknown::OPERATION_EXTENSIONS,
        Field::OperationReserved => unknown::OPERATION_RESERVED,
    }
}

/// Returns whether a refusal depends on what the rules do not know: memory, signals, the device's state, handles.
fn is_outside(errno: Errno) -> bool {
    /// The kernel's own numbers for an interrupted call that is made again.
    const RESTART: std::ops::RangeInclusive<i32> = 512..=516;
    let named = [
        Errno::ENOENT,
        Errno::EINTR,
        Errno::EAGAIN,
        Errno::ENOMEM,
        Errno::EFAULT,
        Errno::ENODEV,
        Errno::ENOSPC,
        // Memory for an array of operations.
        Errno::ENOBUFS,
        Errno::ECANCELED,
    ];
    named.contains(&errno) || RESTART.contains(&errno.get())
}
