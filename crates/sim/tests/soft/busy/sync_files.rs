//! ioctl(2) and poll(2) of fences and dma-bufs.

use gem_coherency_uapi::dma_buf::*;
use gem_coherency_uapi::sync_file::*;

use super::*;

impl Program {
    /// SYNC_IOC_FILE_INFO with room for `room` parts; returns the answer and the parts.
    #[track_caller]
    pub fn info(&mut self, fence: i32, room: u32) -> Result<(sync_file_info, Vec<sync_fence_info>), Errno> {
        let args = sync_file_info { num_fences: room, sync_fence_info: LIST, ..Default::default() };
        let args = self.on(fence, SYNC_IOC_FILE_INFO, args)?;
        let count = u64::from(if room == 0 { 0 } else { args.num_fences });
        let parts = (0..count).map(|number| self.get(LIST + 80 * number)).collect();
        Ok((args, parts))
    }

    #[track_caller]
    fn merge(&mut self, one: i32, fd2: i32) -> Result<i32, Errno> {
        let mut args = sync_merge_data { fd2, ..Default::default() };
        args.name[..3].copy_from_slice(b"two");
        self.on(one, SYNC_IOC_MERGE, args).map(|args| args.fence)
    }

    #[track_caller]
    fn dma_buf(&mut self, object: Buffer) -> i32 {
        let args = drm_prime_handle { handle: object.handle, flags: DRM_RDWR, fd: 0 };
        self.request(DRM_IOCTL_PRIME_HANDLE_TO_FD, args).unwrap().fd
    }
}

/// Returns the text of a name.
fn text(name: &[u8; 32]) -> &str {
    std::str::from_utf8(name).unwrap().trim_end_matches('\0')
}

#[test]
fn a_merged_fence_is_signalled_with_the_last_of_both() {
    let mut program = Program::new("tgl,gpu=timed");
    let (one, other) = (program.spinner(), program.spinner());
    let first = program.run_with_fence(one, I915_EXEC_RENDER);
    let second = program.run_with_fence(other, I915_EXEC_BLT);
    let both = program.merge(first, second).unwrap();
    let (info, _) = program.info(both, 0).unwrap();
    assert_eq!((text(&info.name), info.status, info.num_fences), ("two", 0, 2));
    assert_eq!(program.info(both, 1).map(drop), Err(Errno::EINVAL));
    let (_, parts) = program.info(both, 4).unwrap();
    for part in &parts {
        assert_eq!((text(&part.driver_name), part.status, part.timestamp_ns), ("0000:00:02.0", 0, 0));
    }
    program.end(one);
    assert!(program.process.signalled(first).unwrap());
    assert!(!program.process.signalled(both).unwrap());
    let (info, parts) = program.info(both, 2).unwrap();
    assert_eq!((info.status, parts[0].status, parts[1].status), (0, 1, 0));
    assert!(parts[0].timestamp_ns > 0 && text(&parts[0].obj_name) == "signaled");
    program.end(other);
    assert!(program.process.signalled(both).unwrap());
    assert_eq!(program.info(both, 0).unwrap().0.status, 1);
    let done = program.merge(first, second).unwrap();
    let (info, parts) = program.info(done, 1).unwrap();
    assert_eq!((info.status, info.num_fences, text(&parts[0].driver_name)), (1, 1, "stub"));
}

#[test]
fn of_one_timeline_the_last_submission_remains() {
    let mut program = Program::new("tgl,gpu=timed");
    let (one, other) = (program.spinner(), program.spinner());
    let first = program.run_with_fence(one, I915_EXEC_RENDER);
    let second = program.run_with_fence(other, I915_EXEC_RENDER);
    let both = program.merge(first, second).unwrap();
    assert_eq!(program.info(both, 0).unwrap().0.num_fences, 1);
    program.end(one);
    assert!(!program.process.signalled(both).unwrap());
    program.end(other);
    assert!(program.process.signalled(both).unwrap());
}

#[test]
fn arguments_are_checked() {
    let mut program = Program::new("tgl,gpu=timed");
    let spinner = program.spinner();
    let fence = program.run_with_fence(spinner, I915_EXEC_RENDER);
    let device = program.fd;
    assert_eq!(program.merge(fence, 99), Err(Errno::ENOENT));
    assert_eq!(program.merge(fence, device), Err(Errno::ENOENT));
    let args = sync_merge_data { fd2: fence, flags: 1, ..Default::default() };
    assert_eq!(program.on(fence, SYNC_IOC_MERGE, args).map(drop), Err(Errno::EINVAL));
    let args = sync_file_info { pad: 1, ..Default::default() };
    assert_eq!(program.on(fence, SYNC_IOC_FILE_INFO, args).map(drop), Err(Errno::EINVAL));
    let args = sync_file_info { num_fences: 1, sync_fence_info: 0x8_0000, ..Default::default() };
    assert_eq!(program.on(fence, SYNC_IOC_FILE_INFO, args).map(drop), Err(Errno::EFAULT));
    for (pad, done) in [(0, Ok(())), (1, Err(Errno::EINVAL))] {
        let args = sync_set_deadline { deadline_ns: 7, pad };
        assert_eq!(program.on(fence, SYNC_IOC_SET_DEADLINE, args).map(drop), done);
    }
    assert_eq!(program.process.ioctl(fence, 0x3e06, ARGS), Err(Errno::ENOTTY));
    assert_eq!(program.process.signalled(device), Err(Errno::EINVAL));
    assert_eq!(program.process.signalled(99), Err(Errno::EBADF));
    assert_eq!(program.process.unused(fence), Ok(false));
}

#[test]
fn a_dma_buf_tells_its_writers_from_its_readers() {
    for (flags, reads) in [(0, true), (EXEC_OBJECT_WRITE, false)] {
        let mut program = Program::new("tgl,gpu=timed");
        let (spinner, target) = (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC));
        let dma_buf = program.dma_buf(target);
        assert!(program.process.signalled(dma_buf).unwrap() && program.process.unused(dma_buf).unwrap());
        let args = drm_i915_gem_execbuffer2 { flags: I915_EXEC_RENDER, ..Default::default() };
        program.submit(&[(target, flags), (spinner, 0)], args).unwrap();
        assert_eq!(program.process.signalled(dma_buf), Ok(reads));
        assert_eq!(program.process.unused(dma_buf), Ok(false));
        let mut fence = |access| {
            let args = dma_buf_export_sync_file { flags: access as u32, fd: -1 };
            program.on(dma_buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, args).unwrap().fd
        };
        let [before_read, before_write] = [DMA_BUF_SYNC_READ, DMA_BUF_SYNC_WRITE].map(&mut fence);
        assert_eq!(program.process.signalled(before_read), Ok(reads));
        assert_eq!(program.process.signalled(before_write), Ok(false));
        for (flags, waits) in [(DMA_BUF_SYNC_READ, !reads), (DMA_BUF_SYNC_RW, true)] {
            let args = dma_buf_sync { flags };
            let attempt = program.attempt(dma_buf, DMA_BUF_IOCTL_SYNC, args, Instant::now()).unwrap();
            assert_eq!(attempt.is_none(), waits);
        }
        program.end(spinner);
        for fence in [before_read, before_write] {
            assert!(program.process.signalled(fence).unwrap());
        }
        assert!(program.process.unused(dma_buf).unwrap());
    }
}

#[test]
fn an_imported_fence_delays_the_users_of_a_dma_buf() {
    for (imports, runs) in [(true, false), (false, true)] {
        let mut program = Program::new("tgl,gpu=timed");
        let (spinner, target) = (program.spinner(), program.buffer(I915_MMAP_OFFSET_WC));
        let (batch, dma_buf) = (program.store(target), program.dma_buf(target));
        let fence = program.run_with_fence(spinner, I915_EXEC_RENDER);
        if imports {
            let args = dma_buf_import_sync_file { flags: DMA_BUF_SYNC_WRITE as u32, fd: fence };
            program.on(dma_buf, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, args).unwrap();
        }
        let args = drm_i915_gem_execbuffer2 { flags: I915_EXEC_BLT, ..Default::default() };
        program.submit(&[(target, EXEC_OBJECT_WRITE), (batch, 0)], args).unwrap();
        assert_eq!(program.busy(batch) == 0, runs);
    }
}

#[test]
fn kernels_before_6_0_have_no_files_of_a_dma_bufs_fences() {
    for (kernel, done) in [("5.15", Err(Errno::ENOTTY)), ("6.0", Ok(()))] {
        let mut program = Program::new(&format!("tgl,gpu=timed,kernel={kernel}"));
        let target = program.buffer(I915_MMAP_OFFSET_WC);
        let dma_buf = program.dma_buf(target);
        let args = dma_buf_export_sync_file { flags: DMA_BUF_SYNC_RW as u32, fd: -1 };
        assert_eq!(program.on(dma_buf, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, args).map(drop), done, "{kernel}");
    }
}
