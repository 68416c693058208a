//! Requests of xe, asked of each class: would its kernel refuse this one, and why.
//!
//! A rule of caching that refuses is a mistake of the program there. What follows a request that one device accepts and another one refuses is not
//! the same on both, so that the objects of the request are not judged any more where the answer differs from the run's.

use gem_coherency::vocabulary::CacheLevel;
use gem_coherency::xe::{self, Bound, Refusal};
use gem_coherency_memory_model::Mistake;
use gem_coherency_sim::{
    AskedBind, AskedMemory, AskedObject, AskedOfXe, AskedRequest, NamedObject, RefusedRequest,
};
use gem_coherency_uapi::xe::{DRM_IOCTL_XE_GEM_CREATE, DRM_IOCTL_XE_MADVISE, DRM_IOCTL_XE_VM_BIND};

use super::classes::Mask;
use super::{Judge, Verdict};

/// A refusal, and what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct About {
    refusal: Refusal,
    object: Option<AskedObject>,
    size: u64,
}

impl Judge {
    /// Asks each class about the request with a number; returns the mistakes.
    pub(super) fn ask(&mut self, number: u64) -> Vec<Verdict> {
        let Some(AskedOfXe { refused, request, .. }) = self.asked.remove(&number) else { return Vec::new() };
        let name = name_of(&request);
        let short = name.trim_start_matches("DRM_IOCTL_XE_");
        let mut mistakes: Vec<(About, Mask)> = Vec::new();
        let mut gone = 0;
        let mut notes = Vec::new();
        for (number, (bit, class)) in self.classes.with_bits().enumerate() {
            let Some(device) = &class.xe else {
                if let Some(Refusal { rule, .. }) = refused {
                    let why = format!(
                        "what follows a {short} that is refused in the run ({rule}): i915 has no such request"
                    );
                    notes.push((bit, false, why));
                }
                continue;
            };
            let created = |object: AskedObject| self.created_there(number, object);
            let asked = Asked { device, without: self.classes.without };
            let are_judged = objects_of(&request).into_iter().all(|object| created(object).is_some());
            match (asked.answer(&request, created), refused) {
                (Ok(()), None) => {}
                // What would have been found of the other objects is not known.
                (Ok(()), Some(_)) if !are_judged => {}
                (Ok(()), Some(Refusal { rule, .. })) => {
                    gone |= bit;
                    let why = format!(
                        "what follows a {short} that is accepted there, and refused in the run ({rule})"
                    );
                    notes.push((bit, false, why));
                }
                (Err(about), _) => {
                    gone |= if refused.is_none() { bit } else { 0 };
                    let rule = about.refusal.rule;
                    if rule.is_of_caching() {
                        match mistakes.iter_mut().find(|(known, _)| *known == about) {
                            Some((_, on)) => *on |= bit,
                            None => mistakes.push((about, bit)),
                        }
                    } else if refused.is_none() {
                        notes.push((bit, true, format!("{short}: {}", rule.reason())));
                    }
                }
            }
        }
        for (on, is_refusal, why) in notes {
            self.note(on, is_refusal, why);
        }
        for object in objects_of(&request) {
            if let Some(object) = self.objects.get_mut(&object.number) {
                object.give_up(&mut self.ledger, gone);
            }
        }
        mistakes.into_iter().map(|(about, on)| self.refusal_verdict(name, about, on)).collect()
    }

    /// Returns an object as it was created on a class; `None` if it is not judged there.
    fn created_there(&self, class: usize, object: AskedObject) -> Option<xe::Object> {
        match self.objects.get(&object.number) {
            Some(known) => known.created_on(class),
            // It is another device's.
            None => Some(xe::Object::imported(object.size)),
        }
    }

    fn refusal_verdict(&self, request: &'static str, about: About, on: Mask) -> Verdict {
        let About { refusal: Refusal { errno, rule }, object, size } = about;
        let number = object.map(|object| object.number);
        let (handle, size) = object.map_or((None, size), |object| (object.handle, object.size));
        Verdict {
            kind: Mistake::RefusedRequest,
            object: number.unwrap_or(0),
            handle,
            size,
            level: CacheLevel::None,
            route: None,
            lines: Vec::new(),
            refused: Some(RefusedRequest { request, errno, rule, object: number, handle, size }),
            platforms: self.classes.platforms(on),
        }
    }
}

/// A device that is asked, whose kernel may lack a rule.
struct Asked<'a> {
    device: &'a xe::Device,
    without: Option<xe::Rule>,
}

impl Asked<'_> {
    /// Returns the first refusal, in the kernel's order; `created` are the objects as they are there.
    fn answer(
        &self,
        request: &AskedRequest,
        created: impl Fn(AskedObject) -> Option<xe::Object>,
    ) -> Result<(), About> {
        match request {
            AskedRequest::Create(asked) => {
                let about = |refusal| About { refusal, object: None, size: asked.size };
                self.device.create(asked).map(drop).map_err(about)
            }
            AskedRequest::Bind { operations, faults, reaches_objects } => {
                self.arguments(operations, *faults)?;
                if *reaches_objects { self.objects(operations, created) } else { Ok(()) }
            }
            &AskedRequest::Advise { start, range, pat_index, reserved, ref found } => {
                let known = |memory: &AskedMemory| match *memory {
                    AskedMemory::Object(object) => Some((Some(object), created(object)?)),
                    AskedMemory::Process | AskedMemory::PartOfProcess => {
                        Some((None, xe::Object::imported(0)))
                    }
                };
                let objects: Vec<_> = found.iter().map(known).collect();
                // An object that is not there is not found there.
                let bound = found.iter().zip(&objects).filter_map(|(memory, object)| match memory {
                    AskedMemory::Object(_) => object.as_ref().map(|(_, object)| Bound::Object(object)),
                    AskedMemory::Process => Some(Bound::Process),
                    AskedMemory::PartOfProcess => Some(Bound::PartOfProcess),
                });
                let bound: Vec<_> = bound.collect();
                let ask =
                    |bound: &[Bound<'_>]| self.device.madvise_pat(start, range, pat_index, reserved, bound);
                self.unless_lacking(ask(&bound)).map_err(|refusal| {
                    let is_reason = |object: &&(Option<AskedObject>, xe::Object)| {
                        object.0.is_some() && ask(&[Bound::Object(&object.1)]) == Err(refusal)
                    };
                    let object = objects.iter().flatten().find(is_reason).and_then(|(object, _)| *object);
                    About { refusal, object, size: range }
                })
            }
        }
    }

    fn arguments(&self, operations: &[AskedBind], faults: bool) -> Result<(), About> {
        // Only whether there is an object counts.
        let unknown = xe::Object::imported(0);
        operations.iter().try_for_each(|op| {
            let bind = op.with(op.object.is_some().then_some(&unknown));
            let about = |refusal| About { refusal, object: known(op), size: op.range };
            self.unless_lacking(self.device.bind_arguments(&bind, faults)).map_err(about)
        })
    }

    fn objects(
        &self,
        operations: &[AskedBind],
        created: impl Fn(AskedObject) -> Option<xe::Object>,
    ) -> Result<(), About> {
        let about = |op: &AskedBind, refusal| About { refusal, object: known(op), size: op.range };
        operations.iter().try_for_each(|op| {
            self.device.bind_range(&op.with(None)).map_err(|refusal| about(op, refusal))
        })?;
        for op in operations {
            let Some(object) = op.object else { continue };
            // The request ends at an object that does not exist. Of one that is not judged there nothing is known.
            let NamedObject::Known(object) = object else { return Ok(()) };
            let Some(object) = created(object) else { continue };
            let answer = self.device.bind_object(&op.with(Some(&object)), &object);
            self.unless_lacking(answer).map_err(|refusal| about(op, refusal))?;
        }
        Ok(())
    }

    /// Returns an answer, unless the kernel lacks the rule that refuses.
    fn unless_lacking(&self, answer: Result<(), Refusal>) -> Result<(), Refusal> {
        answer.or_else(|refusal| if Some(refusal.rule) == self.without { Ok(()) } else { Err(refusal) })
    }
}

fn known(op: &AskedBind) -> Option<AskedObject> {
    match op.object {
        Some(NamedObject::Known(object)) => Some(object),
        Some(NamedObject::Missing) | None => None,
    }
}

/// Returns the objects that a request names or finds.
fn objects_of(request: &AskedRequest) -> Vec<AskedObject> {
    match request {
        AskedRequest::Create(_) => Vec::new(),
        AskedRequest::Bind { operations, .. } => operations.iter().filter_map(known).collect(),
        AskedRequest::Advise { found, .. } => {
            let object = |memory: &AskedMemory| match *memory {
                AskedMemory::Object(object) => Some(object),
                AskedMemory::Process | AskedMemory::PartOfProcess => None,
            };
            found.iter().filter_map(object).collect()
        }
    }
}

fn name_of(request: &AskedRequest) -> &'static str {
    match request {
        AskedRequest::Create(_) => DRM_IOCTL_XE_GEM_CREATE.name,
        AskedRequest::Bind { .. } => DRM_IOCTL_XE_VM_BIND.name,
        AskedRequest::Advise { .. } => DRM_IOCTL_XE_MADVISE.name,
    }
}
