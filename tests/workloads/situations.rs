//! The workloads: each is one situation that a rule of the kernel is for.

use std::fs;
use std::iter;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use gem_coherency::backend::{Drm, Extras};
use gem_coherency::device::{AdoptRequest, AllocRequest, Contents, Device};
use gem_coherency::object::Bo;
use gem_coherency::vocabulary::{Access, CachingMode, Domains, Handle, MmapMode};
use gem_coherency_exercise::commands::shaders::{self, COPY_BYTES};
use gem_coherency_exercise::{Region, Walker};

use super::bench::{Bench, NEW, OLD, SIZE, Seen};
use super::{system, udmabuf};

/// A workload by name.
pub struct Workload {
    pub name: &'static str,
    pub about: &'static str,
    pub run: fn(&Bench) -> Seen,
}

macro_rules! workloads {
    ($($name:literal $run:ident $about:literal)+) => {
        pub const WORKLOADS: &[Workload] = &[$(Workload { name: $name, about: $about, run: $run }),+];
    };
}

workloads! {
    "new-exec" new_exec "the GPU reads a new object"
    "uncached-exec" uncached_exec "the GPU reads a new uncached object"
    "new-bypass" new_bypass "a shader reads a new object by MOCS entry 16"
    "userptr-bypass" userptr_bypass "a shader reads new memory of the process by MOCS entry 16"
    "import-exec" import_exec "the GPU reads new memory of a memfd, imported from udmabuf"
    "store-exec" store_exec "CPU stores in the CPU domain, the GPU reads"
    "level-exec" level_exec "CPU stores to a cached object, SET_CACHING to uncached, the GPU reads"
    "store-wc" store_wc "CPU stores in the CPU domain, WC loads in the WC domain"
    "store-wc-exec" store_wc_exec "CPU stores in the CPU domain, WC domain, the GPU reads"
    "store-dma-buf-exec" store_dma_buf_exec "CPU stores between DMA_BUF_IOCTL_SYNCs, the GPU reads"
    "gpu-load" gpu_load "the GPU writes, CPU loads in the CPU domain"
    "gpu-dma-buf-load" gpu_dma_buf_load "the GPU writes, CPU loads after DMA_BUF_IOCTL_SYNC"
    "gpu-pread" gpu_pread "the GPU writes, PREAD"
    "pwrite-exec" pwrite_exec "PWRITE while the device is idle, the GPU reads"
    "pwrite-bypass" pwrite_bypass "PWRITE while the device is idle, a shader reads by MOCS entry 16"
    "gpu-pwrite-load" gpu_pwrite_load "the GPU writes, PWRITE of a dword per line while the device is idle, CPU loads in the CPU domain"
    "swap-load" swap_load "the GPU writes, the pages are swapped out, CPU loads in the CPU domain"
    "suspend-load" suspend_load "the GPU writes, the machine is suspended, CPU loads in the CPU domain"
    "suspend-bound-exec" suspend_bound_exec "CPU stores to an object that is bound into the GGTT, the machine is suspended, the GPU reads"
    "hibernate-load" hibernate_load "the GPU writes, the machine hibernates, CPU loads in the CPU domain"
}

/// A worker of the kernel frees objects that are closed.
const FREEING: Duration = Duration::from_millis(50);
const CPU: Domains = Domains::CPU;
const NONE: Domains = Domains::empty();

fn is_new(_: usize) -> u32 {
    NEW
}

fn is_zero(_: usize) -> u32 {
    0
}

/// Leaves old bytes in pages that are free: those that new objects get.
fn leave_old_pages(bench: &Bench) {
    let objects: Vec<Handle> = (0..16).map(|_| bench.filled(OLD)).collect();
    objects.into_iter().for_each(|object| bench.node.close(object).unwrap());
    sleep(FREEING);
}

/// Leaves old bytes in pages that are free, and that processes get: those of objects are others.
fn leave_old_memory(bench: &Bench) {
    let from = bench.filled(OLD);
    let imported: Vec<_> =
        (0..16).map(|_| bench.node.import(udmabuf::create(SIZE).as_fd()).unwrap()).collect();
    for object in imported {
        // The next one's acquire writes all caches back.
        bench.copy(from, object.handle);
        bench.node.close(object.handle).unwrap();
    }
    sleep(FREEING);
}

fn new_exec(bench: &Bench) -> Seen {
    leave_old_pages(bench);
    Seen::new(&bench.gpu_reads(bench.create(SIZE)), is_zero)
}

fn uncached_exec(bench: &Bench) -> Seen {
    leave_old_pages(bench);
    Seen::new(&bench.gpu_reads(bench.uncached()), is_zero)
}

/// Returns the bytes of an object that a shader of the GPU reads past the LLC.
fn bypassing_reads(bench: &Bench, leave_old: fn(&Bench), create: impl Fn(&Device) -> Bo) -> Vec<u8> {
    let device = Device::from_drm(Arc::clone(&bench.node) as Arc<dyn Drm>).unwrap();
    let shader = shaders::copy(device.machine()).unwrap();
    let to = device.alloc(AllocRequest::new(SIZE)).unwrap();
    leave_old(bench);
    let from = create(&device);
    let mut walker = Walker::new(&device, &shader).unwrap();
    walker.surface(Region::new(&from, 0).mocs(16), SIZE, Access::Read).unwrap();
    walker.surface(Region::new(&to, 0), SIZE, Access::Write).unwrap();
    walker.submit((SIZE / COPY_BYTES) as u32).unwrap().wait(None).unwrap();
    let mut bytes = vec![0; SIZE as usize];
    to.read(0, SIZE).unwrap().read_at(0, &mut bytes).unwrap();
    bytes
}

fn new_bypass(bench: &Bench) -> Seen {
    let alloc = |device: &Device| device.alloc(AllocRequest::new(SIZE)).unwrap();
    Seen::new(&bypassing_reads(bench, leave_old_pages, alloc), is_zero)
}

/// The library flushes nothing of it.
fn adopt(device: &Device, object: Handle) -> Bo {
    device.adopt(AdoptRequest::new(object, SIZE).contents(Contents::New)).unwrap()
}

fn userptr_bypass(bench: &Bench) -> Seen {
    let create = |device: &Device| adopt(device, bench.userptr());
    Seen::new(&bypassing_reads(bench, leave_old_memory, create), is_zero)
}

fn import_exec(bench: &Bench) -> Seen {
    leave_old_memory(bench);
    let imported = bench.node.import(udmabuf::create(SIZE).as_fd()).unwrap();
    Seen::new(&bench.gpu_reads(imported.handle), is_zero)
}

/// An object with old bytes, and new ones that the CPU stored in the CPU domain.
fn stored(bench: &Bench) -> Handle {
    let object = bench.filled(OLD);
    bench.set_domain(object, CPU, CPU);
    bench.store(object, NEW);
    object
}

fn store_exec(bench: &Bench) -> Seen {
    Seen::new(&bench.gpu_reads(stored(bench)), is_new)
}

fn level_exec(bench: &Bench) -> Seen {
    let object = bench.filled(OLD);
    bench.set_caching(object, CachingMode::Cached);
    bench.set_domain(object, CPU, CPU);
    bench.store(object, NEW);
    bench.set_caching(object, CachingMode::None);
    Seen::new(&bench.gpu_reads(object), is_new)
}

fn store_wc(bench: &Bench) -> Seen {
    let object = stored(bench);
    bench.set_domain(object, Domains::WC, NONE);
    Seen::new(&bench.load(object, MmapMode::Wc), is_new)
}

fn store_wc_exec(bench: &Bench) -> Seen {
    let object = stored(bench);
    bench.set_domain(object, Domains::WC, NONE);
    Seen::new(&bench.gpu_reads(object), is_new)
}

fn store_dma_buf_exec(bench: &Bench) -> Seen {
    let object = bench.filled(OLD);
    let dma_buf = bench.node.export(object).unwrap();
    bench.node.begin_dma_buf_access(dma_buf.as_fd(), Access::Write).unwrap();
    bench.store(object, NEW);
    bench.node.end_dma_buf_access(dma_buf.as_fd(), Access::Write).unwrap();
    Seen::new(&bench.gpu_reads(object), is_new)
}

/// An object of which the CPU has cached the old bytes, and to which the GPU has written new ones.
fn written(bench: &Bench) -> Handle {
    let (from, to) = (bench.filled(NEW), bench.filled(OLD));
    bench.set_domain(to, CPU, NONE);
    bench.load(to, MmapMode::Wb);
    bench.copy(from, to);
    to
}

fn gpu_load(bench: &Bench) -> Seen {
    let object = written(bench);
    bench.set_domain(object, CPU, NONE);
    Seen::new(&bench.load(object, MmapMode::Wb), is_new)
}

fn gpu_dma_buf_load(bench: &Bench) -> Seen {
    let object = written(bench);
    let dma_buf = bench.node.export(object).unwrap();
    bench.node.begin_dma_buf_access(dma_buf.as_fd(), Access::Read).unwrap();
    Seen::new(&bench.load(object, MmapMode::Wb), is_new)
}

fn gpu_pread(bench: &Bench) -> Seen {
    let object = written(bench);
    let mut bytes = vec![0; SIZE as usize];
    bench.node.pread(object, 0, &mut bytes).unwrap();
    Seen::new(&bytes, is_new)
}

/// Calls PWRITE while nobody uses the device: it does not wake it to write through the aperture.
fn pwrite_idle(bench: &Bench, object: Handle, offsets: impl Iterator<Item = u64>, data: &[u8]) {
    let power = Path::new("/sys/class/drm/renderD128/device/power");
    fs::write(power.join("control"), "auto").unwrap();
    // The GPU's engines are parked after a while.
    while fs::read_to_string(power.join("runtime_usage")).unwrap().trim() != "0" {
        sleep(FREEING);
    }
    offsets.for_each(|offset| bench.node.pwrite(object, offset, data).unwrap());
    fs::write(power.join("control"), "on").unwrap();
}

/// An object with old bytes in memory, and new ones of PWRITE.
fn pwritten(bench: &Bench) -> Handle {
    let object = bench.filled(OLD);
    pwrite_idle(bench, object, iter::once(0), &NEW.to_le_bytes().repeat(SIZE as usize / 4));
    object
}

fn pwrite_exec(bench: &Bench) -> Seen {
    Seen::new(&bench.gpu_reads(pwritten(bench)), is_new)
}

fn pwrite_bypass(bench: &Bench) -> Seen {
    Seen::new(&bypassing_reads(bench, leave_old_pages, |device| adopt(device, pwritten(bench))), is_new)
}

fn gpu_pwrite_load(bench: &Bench) -> Seen {
    let object = written(bench);
    pwrite_idle(bench, object, (0..SIZE).step_by(64), &NEW.to_le_bytes());
    bench.set_domain(object, CPU, NONE);
    Seen::new(&bench.load(object, MmapMode::Wb), is_new)
}

/// Loads an object that the GPU has written, after `happens`.
fn loads_after(bench: &Bench, happens: fn()) -> Seen {
    let object = written(bench);
    happens();
    bench.set_domain(object, CPU, NONE);
    Seen::new(&bench.load(object, MmapMode::Wb), is_new)
}

fn swap_load(bench: &Bench) -> Seen {
    loads_after(bench, system::swap_out)
}

fn suspend_load(bench: &Bench) -> Seen {
    loads_after(bench, system::suspend)
}

fn hibernate_load(bench: &Bench) -> Seen {
    loads_after(bench, system::hibernate)
}

fn suspend_bound_exec(bench: &Bench) -> Seen {
    let object = bench.filled(OLD);
    // A fault binds it.
    bench.load(object, MmapMode::Gtt);
    bench.set_domain(object, CPU, CPU);
    bench.store(object, NEW);
    system::suspend();
    Seen::new(&bench.gpu_reads(object), is_new)
}
