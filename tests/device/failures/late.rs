//! A software device one of whose requests fails after it had its effect, as SET_CACHING does whose last step fails.

use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use gem_coherency::backend::display::Display;
use gem_coherency::backend::mapping::Mapping;
use gem_coherency::backend::{
    Advice, Busy, Created, DriverVersion, Drm, ExecObject, MemoryRegion, OpenCounts, Param, Retained,
};
use gem_coherency::vocabulary::KernelVersion;
use gem_coherency::vocabulary::{CachingMode, Domains, Handle, MmapMode};
use gem_coherency::{Errno, Error, Result};
use gem_coherency_sim::SimDevice;

/// The device.
#[derive(Debug)]
pub struct Late {
    soft: Arc<SimDevice>,
    /// The requests before the one that fails.
    left: AtomicU64,
}

impl Late {
    /// Makes the request after `after` others fail when it is done, of those that change an object.
    pub fn new(soft: &Arc<SimDevice>, after: u64) -> Arc<Self> {
        Arc::new(Self { soft: Arc::clone(soft), left: AtomicU64::new(after) })
    }

    /// Returns whether the request failed.
    pub fn has_failed(&self) -> bool {
        self.left.load(Ordering::Relaxed) == u64::MAX
    }

    fn done<T>(&self, request: &'static str, done: Result<T>) -> Result<T> {
        let left = self.left.load(Ordering::Relaxed);
        if left != u64::MAX {
            self.left.store(left.wrapping_sub(1), Ordering::Relaxed);
        }
        if left == 0 { Err(Error::Ioctl { request, errno: Errno::ENOMEM }) } else { done }
    }
}

/// Declares methods that make the request of the software device; those of the second list may then fail.
macro_rules! requests {
    (
        { $(fn $name:ident(&self $(, $arg:ident: $type:ty)*) -> $result:ty;)* }
        { $(fn $late:ident(&self $(, $late_arg:ident: $late_type:ty)*) -> $late_result:ty;)* }
    ) => {
        impl Drm for Late {
            $(fn $name(&self $(, $arg: $type)*) -> $result {
                self.soft.$name($($arg),*)
            })*
            $(fn $late(&self $(, $late_arg: $late_type)*) -> $late_result {
                self.done(stringify!($late), self.soft.$late($($late_arg),*))
            })*
        }
    };
}

requests! {
    {
        fn name(&self) -> &str;
        fn file(&self) -> Option<BorrowedFd<'_>>;
        fn kernel(&self) -> KernelVersion;
        fn version(&self) -> Result<DriverVersion>;
        fn param(&self, param: Param) -> Result<i32>;
        fn memory_regions(&self) -> Result<Vec<MemoryRegion>>;
        fn create(&self, size_bytes: u64) -> Result<Created>;
        fn create_with_pat(&self, size_bytes: u64, pat_index: u32) -> Result<Created>;
        fn close(&self, handle: Handle) -> Result<()>;
        fn caching(&self, handle: Handle) -> Result<CachingMode>;
        fn map(&self, handle: Handle, mode: MmapMode, size_bytes: u64) -> Result<Mapping>;
        fn busy(&self, handle: Handle) -> Result<Busy>;
        fn export(&self, handle: Handle) -> Result<OwnedFd>;
        fn import(&self, dma_buf: BorrowedFd<'_>) -> Result<Created>;
        fn display(&self) -> Result<&dyn Display>;
        fn open_counts(&self) -> OpenCounts;
    }
    {
        fn set_caching(&self, handle: Handle, mode: CachingMode) -> Result<()>;
        fn set_domain(&self, handle: Handle, read: Domains, write: Domains) -> Result<()>;
        fn wait(&self, handle: Handle, timeout_ns: i64) -> Result<()>;
        fn madvise(&self, handle: Handle, advice: Advice) -> Result<Retained>;
        fn execute(&self, objects: &[ExecObject]) -> Result<()>;
    }
}

#[test]
fn a_backend_that_lacks_the_requests_of_tools_refuses_them_by_name() {
    let soft = Arc::new(SimDevice::open("sim:tgl").unwrap());
    let error = Late::new(&soft, u64::MAX).extras().err().unwrap();
    assert_eq!(error.errno(), Errno::ENODEV);
    assert!(error.to_string().starts_with("a request of backend::Extras: ENODEV"), "{error}");
    soft.extras().unwrap().pwrite(soft.create(4096).unwrap().handle, 0, &[1]).unwrap();
}
