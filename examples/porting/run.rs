//! Runs a driver's frames on a software device, and counts their cost and the old bytes that readers see.

use std::sync::Arc;

use gem_coherency::backend::{Drm, ExecObject, Mapping};
use gem_coherency::cacheops::{CacheLines as _, LineOp};
use gem_coherency::device::{Contents, WaitedBy};
use gem_coherency::platform::Machine;
use gem_coherency::policy::Path;
use gem_coherency::policy::kernel::{self, KernelRules, Snapshot};
use gem_coherency::units::{ByteRange, PAGE_BYTES};
use gem_coherency::vocabulary::Access;
use gem_coherency::{AdoptRequest, Bo, Device, Handle, Result, ScanoutGuard, Submission, Upload};
use gem_coherency_sim::SimDevice;

use crate::meter::{Cost, Meter};
use crate::model::{Act, Buffer, Calls, Creation, Driver, Handling, Mappings, Rows, Step, Store, Use};

/// The frames of a run; the cost of the last one counts, when new pages and first accesses are over.
const FRAMES: u8 = 3;

/// The component that makes the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The driver, by the policy of the model.
    Driver,
    /// The library.
    Library,
    /// None; PWRITE becomes stores through the mapping.
    Neither,
}

/// The result of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    /// The cost of the last frame.
    pub cost: Cost,
    /// Old bytes that readers saw in the last frame.
    pub wrong: u64,
    /// Old bytes that readers saw in all frames.
    pub wrong_ever: u64,
    /// Lines that were flushed in all frames, by userspace and by the kernel.
    pub flushed_ever: u64,
}

/// An object of the run.
struct Object {
    handle: Handle,
    handling: Handling,
    calls: &'static Calls,
    mapping: Mapping,
    /// The mapping for loads, if there is one.
    loads: Option<Mapping>,
    /// The library's BO, if the library is used.
    bo: Option<Bo>,
    /// The BO is on the screen, or another process may put it there.
    _shown: Option<ScanoutGuard>,
    /// The newest bytes.
    newest: Vec<u8>,
}

impl Object {
    /// Returns the driver's mapping for an access.
    fn mapping(&self, access: Access) -> &Mapping {
        let loads = self.loads.as_ref().filter(|_| access == Access::Read);
        loads.unwrap_or(&self.mapping)
    }
}

/// A run.
struct Session {
    soft: Arc<SimDevice>,
    meter: Arc<Meter>,
    device: Device,
    by: By,
    driver: &'static Driver,
    objects: Vec<Object>,
    /// The number of the current write: at each offset, a byte differs from zero and from those of all other writes.
    stamp: u64,
    wrong: u64,
}

/// Runs `driver`'s frames on the software device `name`.
///
/// # Errors
/// Those of the device and of the library.
pub fn run(driver: &'static Driver, name: &str, by: By) -> Result<Outcome> {
    let soft = Arc::new(SimDevice::open(name)?);
    let meter = Arc::new(Meter::new(Arc::clone(&soft)));
    let device = Device::from_drm(Arc::clone(&meter) as Arc<dyn Drm>)?;
    let mut session = Session { soft, meter, device, by, driver, objects: Vec::new(), stamp: 0, wrong: 0 };
    for buffer in driver.buffers {
        let object = session.create(buffer)?;
        session.objects.push(object);
    }
    let mut outcome = Outcome::default();
    for _ in 0..FRAMES {
        (session.wrong, _) = (0, session.meter.take());
        for step in driver.frame {
            session.step(step)?;
        }
        let (cost, wrong) = (session.meter.take(), session.wrong);
        outcome = Outcome {
            cost,
            wrong,
            wrong_ever: outcome.wrong_ever + wrong,
            flushed_ever: outcome.flushed_ever + cost.own_lines + cost.kernel_lines,
        };
    }
    Ok(outcome)
}

/// Makes the CPU's stores to `rows` visible to `readers`.
fn flush(bo: &Bo, rows: Rows, readers: &[Path]) -> Result<()> {
    rows.each().try_for_each(|(offset, len)| bo.flush_range(offset, len, readers).map(drop))
}

/// Makes the GPU's writes to `rows` visible to the CPU.
fn invalidate(bo: &Bo, rows: Rows) -> Result<()> {
    rows.each().try_for_each(|(offset, len)| bo.invalidate_range(offset, len).map(drop))
}

impl Session {
    fn machine(&self) -> &Machine {
        self.device.machine()
    }

    fn create(&self, buffer: &'static Buffer) -> Result<Object> {
        let handling = (buffer.handling)(self.machine());
        let size = buffer.pages * PAGE_BYTES;
        let created = match handling.creation {
            Creation::Pat(index) => self.meter.create_with_pat(size, index.into())?,
            Creation::Plain | Creation::Caching(_) => self.meter.create(size)?,
        };
        let handle = created.handle;
        if let Creation::Caching(mode) = handling.creation {
            self.meter.set_caching(handle, mode)?;
        }
        if buffer.framebuffer {
            self.soft.set_framebuffer(handle)?;
        }
        // The kernel flushes the zeroes of new pages with the first batch.
        self.meter.execute(&[ExecObject { handle, access: Access::Read }])?;
        let mapping = self.meter.map(handle, handling.map, size)?;
        let loads = match handling.mappings {
            Mappings::One => None,
            Mappings::EachAccess => Some(self.meter.map(handle, handling.map, size)?),
        };
        let bo = match (self.by, &buffer.calls) {
            (
                By::Library,
                Calls::Ranges(_) | Calls::Lock(_) | Calls::Guards | Calls::Upload | Calls::Marks,
            ) => Some(self.adopt(handle, size, &handling, &buffer.calls)?),
            (By::Library, Calls::None) | (By::Driver | By::Neither, _) => None,
        };
        let shown = match (&bo, &buffer.calls) {
            (Some(bo), Calls::Lock(_)) if buffer.framebuffer => Some(bo.prepare_scanout()?),
            _ => None,
        };
        let newest = vec![0; size as usize];
        Ok(Object { handle, handling, calls: &buffer.calls, mapping, loads, bo, _shown: shown, newest })
    }

    /// Hands an object over to the library, with a mapping of the driver's kind.
    fn adopt(&self, handle: Handle, size: u64, handling: &Handling, calls: &Calls) -> Result<Bo> {
        let mapping = self.meter.map(handle, handling.map, size)?;
        let request = AdoptRequest::new(handle, size).mapped(mapping);
        let request = match calls {
            Calls::Lock(readers) => request.readers(readers),
            Calls::None | Calls::Ranges(_) | Calls::Guards | Calls::Upload | Calls::Marks => {
                request.contents(Contents::New)
            }
        };
        let request = match handling.creation {
            Creation::Pat(index) => {
                let machine = self.machine();
                let creation = kernel::Creation::UserWithPat(index);
                let rules = KernelRules::of(machine.kernel).expect("the software device follows these rules");
                let created = Snapshot::created(machine.caps, &rules, creation);
                request.fixed_level(created.expect("the kernel has created it").level)
            }
            Creation::Plain | Creation::Caching(_) => request,
        };
        let waited_by = if self.driver.waits { WaitedBy::Caller } else { WaitedBy::Library };
        self.device.adopt(request.waited_by(waited_by))
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        match *step {
            Step::Write(buffer, rows) => self.write(buffer, rows),
            Step::Read(buffer, rows) => self.read(buffer, rows),
            Step::Batch(uses) => self.batch(uses),
            Step::Show(buffer) => self.show(buffer),
        }
    }

    /// Makes new bytes for the rows of a buffer, which readers have to see from now on.
    fn renew(&mut self, buffer: usize, rows: Rows) -> Vec<(u64, Vec<u8>)> {
        self.stamp += 1;
        let stamp = self.stamp;
        let newest = &mut self.objects[buffer].newest;
        let fill = |(offset, bytes): (u64, u64)| {
            let row: Vec<u8> = (offset..offset + bytes).map(|at| ((at + stamp) % 255 + 1) as u8).collect();
            newest[offset as usize..][..row.len()].copy_from_slice(&row);
            (offset, row)
        };
        rows.each().map(fill).collect()
    }

    /// Counts the bytes of `seen`, from `offset` of a buffer, that are not the newest.
    fn compare(&mut self, buffer: usize, offset: u64, seen: &[u8]) {
        let newest = &self.objects[buffer].newest[offset as usize..];
        self.wrong += newest.iter().zip(seen).filter(|(newest, seen)| newest != seen).count() as u64;
    }

    /// Performs a driver's operations on a buffer, of which it is about to access, or has accessed, `rows`.
    fn act(&self, object: &Object, access: Access, acts: &[Act], rows: Rows) -> Result<()> {
        let (handle, mapping) = (object.handle, object.mapping(access));
        let len = mapping.len();
        let clflush = |ranges: &mut dyn Iterator<Item = (u64, u64)>| {
            mapping.drain()?;
            for (offset, bytes) in ranges {
                let lines = ByteRange::within(offset, bytes, len)?.lines();
                mapping.perform(LineOp::Flush, lines)?;
            }
            mapping.drain()
        };
        for act in acts {
            match *act {
                Act::SetDomain(read, write) => self.meter.set_domain(handle, read, write)?,
                Act::Wait => self.meter.wait(handle, -1)?,
                Act::SwFinish => self.meter.sw_finish(handle)?,
                Act::FlushMapping => clflush(&mut [(0, len)].into_iter())?,
                Act::FlushRows => clflush(&mut rows.each())?,
                Act::FlushRowsAhead(ahead) => {
                    let moved = rows.each().map(|(offset, bytes)| (offset + ahead, bytes));
                    clflush(&mut moved.filter(|(offset, bytes)| offset + bytes <= len))?;
                }
            }
        }
        Ok(())
    }

    /// Locks rows of a buffer, through the driver's mapping for the flags of this lock.
    fn lock(&self, object: &Object, bo: &Bo, rows: Rows) -> Result<()> {
        bo.remap(self.meter.map(object.handle, object.handling.map, bo.size())?)?;
        bo.wait(None)?;
        invalidate(bo, rows)
    }

    /// Waits for batches that read or write the BO, before a store. A guard waits for those that write it.
    fn wait_for_readers(&self, bo: &Bo) -> Result<()> {
        if self.driver.waits { Ok(()) } else { bo.wait(None) }
    }

    fn write(&mut self, buffer: usize, rows: Rows) -> Result<()> {
        let data = self.renew(buffer, rows);
        let object = &self.objects[buffer];
        let mapping = object.mapping(Access::Write);
        let store = || data.iter().try_for_each(|(offset, row)| mapping.copy_in(*offset, row));
        match (&object.bo, self.by) {
            (None, By::Driver) => {
                self.act(object, Access::Write, object.handling.before_write, rows)?;
                match object.handling.store {
                    Store::Mapping => store()?,
                    Store::Pwrite => data
                        .iter()
                        .try_for_each(|(offset, row)| self.meter.pwrite(object.handle, *offset, row))?,
                }
                self.act(object, Access::Write, object.handling.after_write, rows)
            }
            (None, By::Library | By::Neither) => store(),
            (Some(bo), _) => match object.calls {
                Calls::None => store(),
                Calls::Ranges(readers) => {
                    store()?;
                    flush(bo, rows, readers)
                }
                Calls::Lock(readers) => {
                    self.lock(object, bo, rows)?;
                    store()?;
                    flush(bo, rows, readers)
                }
                Calls::Guards => {
                    self.wait_for_readers(bo)?;
                    data.iter().try_for_each(|(offset, row)| bo.write_bytes(*offset, row).map(drop))
                }
                Calls::Upload => {
                    self.wait_for_readers(bo)?;
                    data.iter().try_for_each(|(offset, row)| bo.upload(*offset, row, Upload::Auto).map(drop))
                }
                Calls::Marks => {
                    store()?;
                    rows.each().try_for_each(|(offset, len)| bo.mark_written(offset, len))
                }
            },
        }
    }

    fn read(&mut self, buffer: usize, rows: Rows) -> Result<()> {
        let object = &self.objects[buffer];
        let mut seen: Vec<(u64, Vec<u8>)> =
            rows.each().map(|(offset, len)| (offset, vec![0; len as usize])).collect();
        let mapping = object.mapping(Access::Read);
        let load = |seen: &mut Vec<(u64, Vec<u8>)>| {
            seen.iter_mut().try_for_each(|(offset, row)| mapping.copy_out(*offset, row))
        };
        match (&object.bo, self.by) {
            (None, By::Driver) => {
                self.act(object, Access::Read, object.handling.before_read, rows)?;
                load(&mut seen)?;
                self.act(object, Access::Read, object.handling.after_read, rows)?;
            }
            (None, By::Library | By::Neither) => load(&mut seen)?,
            (Some(bo), _) => match object.calls {
                Calls::None => load(&mut seen)?,
                Calls::Ranges(_) => {
                    invalidate(bo, rows)?;
                    load(&mut seen)?;
                }
                Calls::Lock(_) => {
                    self.lock(object, bo, rows)?;
                    load(&mut seen)?;
                }
                Calls::Guards | Calls::Upload | Calls::Marks => {
                    seen.iter_mut().try_for_each(|(offset, row)| bo.read_bytes(*offset, row).map(drop))?;
                }
            },
        }
        for (offset, row) in seen {
            self.compare(buffer, offset, &row);
        }
        Ok(())
    }

    /// Submits a batch, with an empty EXECBUFFER2, and performs the GPU's accesses.
    fn batch(&mut self, uses: &[Use]) -> Result<()> {
        let exec = |one: &Use| ExecObject { handle: self.objects[one.buffer].handle, access: one.access };
        let objects: Vec<ExecObject> = uses.iter().map(exec).collect();
        let submissions: Vec<Submission<'_>> = match self.driver.reports_batches {
            true => uses
                .iter()
                .filter_map(|one| {
                    let bo = self.objects[one.buffer].bo.as_ref()?;
                    Some(Submission { bo, access: one.access, mocs: self.device.mocs_class(one.mocs) })
                })
                .collect(),
            false => Vec::new(),
        };
        let prepared = self.device.begin_submit(&submissions)?;
        self.meter.execute(&objects)?;
        for one in uses {
            self.gpu(one)?;
        }
        prepared.end(None);
        Ok(())
    }

    /// Performs one access of the GPU.
    fn gpu(&mut self, one: &Use) -> Result<()> {
        let (handle, mocs) = (self.objects[one.buffer].handle, self.device.mocs_class(one.mocs));
        match one.access {
            Access::Write => {
                let data = self.renew(one.buffer, one.rows);
                data.iter().try_for_each(|(offset, row)| self.soft.gpu_write(handle, mocs, *offset, row))
            }
            Access::Read => one.rows.each().try_for_each(|(offset, len)| {
                let mut seen = vec![0; len as usize];
                self.soft.gpu_read(handle, mocs, offset, &mut seen)?;
                self.compare(one.buffer, offset, &seen);
                Ok(())
            }),
        }
    }

    /// Flips to the buffer, lets the display read it, and flips away.
    fn show(&mut self, buffer: usize) -> Result<()> {
        let object = &self.objects[buffer];
        let scanout = match (&object.bo, object.calls) {
            (Some(bo), Calls::Guards | Calls::Upload | Calls::Marks) => Some(bo.prepare_scanout()?),
            (Some(_), Calls::None | Calls::Ranges(_) | Calls::Lock(_)) | (None, _) => None,
        };
        self.soft.pin_display(object.handle)?;
        let mut seen = vec![0; object.newest.len()];
        self.soft.display_read(object.handle, 0, &mut seen)?;
        self.soft.unpin_display(object.handle)?;
        drop(scanout);
        self.compare(buffer, 0, &seen);
        Ok(())
    }
}
