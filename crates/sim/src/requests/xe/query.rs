//! DEVICE_QUERY: engines, memory, configuration, GTs and their topology.
//!
//! The numbers are those of the emulated devices. What comes from the GuC, which they lack, is empty.

use bytemuck::{Zeroable, bytes_of};
use gem_coherency::Errno;
use gem_coherency::error::Result;
use gem_coherency::platform::{Caps, EngineClass, Topology};
use gem_coherency_uapi::xe::{
    DRM_IOCTL_XE_DEVICE_QUERY, DRM_XE_DEVICE_QUERY_CONFIG, DRM_XE_DEVICE_QUERY_ENGINES,
    DRM_XE_DEVICE_QUERY_GT_LIST, DRM_XE_DEVICE_QUERY_MEM_REGIONS, DRM_XE_MEM_REGION_CLASS_SYSMEM,
    DRM_XE_MEM_REGION_CLASS_VRAM, DRM_XE_QUERY_CONFIG_FLAG_HAS_CPU_ADDR_MIRROR,
    DRM_XE_QUERY_CONFIG_FLAG_HAS_DISABLE_STATE_CACHE_PERF_FIX, DRM_XE_QUERY_CONFIG_FLAG_HAS_LOW_LATENCY,
    DRM_XE_QUERY_CONFIG_FLAG_HAS_NO_COMPRESSION_HINT, DRM_XE_QUERY_CONFIG_FLAG_HAS_PURGING_SUPPORT,
    DRM_XE_QUERY_CONFIG_FLAG_HAS_VRAM, DRM_XE_QUERY_GT_TYPE_MAIN, DRM_XE_QUERY_GT_TYPE_MEDIA,
    drm_xe_device_query, drm_xe_engine, drm_xe_engine_class_instance, drm_xe_gt, drm_xe_mem_region,
};

use super::queue::{gt_of, has_media_gt, highest_priority};
use crate::SimDevice;
use crate::kernel::hardware::{LINUX_7_2, XE_CLOCK_HZ};
use crate::kernel::injected_faults::Needs;
use crate::kernel::limits::SYSTEM_BYTES;
use crate::requests::entry::{Entry, entries};
use crate::requests::{Caller, refuse};
use crate::sync::fence::now_ns;

pub(in crate::requests) static ENTRIES: &[Entry] = entries! {
    DRM_IOCTL_XE_DEVICE_QUERY, Everyone => query;
};

/// The queries from HWCONFIG on (`DRM_XE_DEVICE_QUERY_HWCONFIG`, `_GT_TOPOLOGY`, `_ENGINE_CYCLES`, `_UC_FW_VERSION`, `_OA_UNITS`,
/// `_PXP_STATUS`, `_EU_STALL`).
const HWCONFIG: u32 = 4;
const GT_TOPOLOGY: u32 = 5;
const ENGINE_CYCLES: u32 = 6;
const UC_FW_VERSION: u32 = 7;
const OA_UNITS: u32 = 8;
const PXP_STATUS: u32 = 9;
const EU_STALL: u32 = 10;
/// The bytes of the answers without engines or GTs (`struct drm_xe_query_uc_fw_version`, `drm_xe_query_oa_units`, `drm_xe_query_pxp_status`,
/// `drm_xe_query_engine_cycles`).
const UC_FW_VERSION_BYTES: usize = 32;
const OA_UNITS_BYTES: usize = 16;
const PXP_STATUS_BYTES: usize = 8;
const CYCLES_BYTES: u32 = 40;
/// The kinds of firmware (`XE_QUERY_UC_TYPE_GUC_SUBMISSION`, `_HUC`).
const GUC: u16 = 0;
const HUC: u16 = 1;
/// The revision of the graphics IP, where the device says its version.
const IP_REVISION: u16 = 4;
/// The types of masks of a topology (`DRM_XE_TOPO_DSS_GEOMETRY`, `_DSS_COMPUTE`, `_L3_BANK`, `_EU_PER_DSS`, `_SIMD16_EU_PER_DSS`).
const DSS_GEOMETRY: u16 = 1;
const DSS_COMPUTE: u16 = 2;
const L3_BANK: u16 = 3;
const EU_PER_DSS: u16 = 4;
const SIMD16_EU_PER_DSS: u16 = 5;
/// The rates of EU stall sampling in cycles (`eu_stall_sampling_rates`).
const STALL_RATES: [u64; 7] = [251, 251 * 2, 251 * 3, 251 * 4, 251 * 5, 251 * 6, 251 * 7];

/// `xe_query_ioctl`.
fn query(caller: &mut Caller<'_>, args: &mut drm_xe_device_query) -> Result<()> {
    let request = DRM_IOCTL_XE_DEVICE_QUERY.name;
    let device = caller.device;
    device.system.enter(request, Needs::Nothing)?;
    if args.extensions != 0 || args.reserved != [0; 2] {
        return refuse(request, Errno::EINVAL);
    }
    if args.query == ENGINE_CYCLES {
        return cycles(caller, args).or_else(|errno| refuse(request, errno));
    }
    let answer = match device.answer(args.query, highest_priority(caller)) {
        Ok(answer) => answer,
        Err(errno) => return refuse(request, errno),
    };
    let size = answer.len() as u32;
    if args.size == 0 {
        args.size = size;
        return Ok(());
    }
    if args.size != size {
        return refuse(request, Errno::EINVAL);
    }
    if args.query == UC_FW_VERSION {
        let mut asked = [0; UC_FW_VERSION_BYTES];
        if caller.memory.read(args.data, &mut asked) < asked.len() {
            return refuse(request, Errno::EFAULT);
        }
        firmware(&asked).or_else(|errno| refuse(request, errno))?;
    }
    if args.query == PXP_STATUS {
        // No device here has protected content.
        return refuse(request, Errno::ENODEV);
    }
    let written = caller.memory.write(args.data, &answer) == answer.len();
    match (written, args.query) {
        (true, _) => Ok(()),
        (false, DRM_XE_DEVICE_QUERY_MEM_REGIONS) => refuse(request, Errno::ENOSPC),
        (false, _) => refuse(request, Errno::EFAULT),
    }
}

/// `query_engine_cycles`.
fn cycles(caller: &mut Caller<'_>, args: &mut drm_xe_device_query) -> std::result::Result<(), Errno> {
    if args.size == 0 {
        args.size = CYCLES_BYTES;
        return Ok(());
    }
    if args.size != CYCLES_BYTES {
        return Err(Errno::EINVAL);
    }
    let mut words = [0_u64; 5];
    let len = size_of_val(&words);
    if caller.memory.read(args.data, bytemuck::bytes_of_mut(&mut words)) < len {
        return Err(Errno::EFAULT);
    }
    let name: drm_xe_engine_class_instance = bytemuck::cast(words[0]);
    // CLOCK_REALTIME, _MONOTONIC, _MONOTONIC_RAW, _BOOTTIME, _TAI.
    if ![0, 1, 4, 7, 11].contains(&(words[1] as u32)) {
        return Err(Errno::EINVAL);
    }
    let device = caller.device;
    let (class, machine) = (name.engine_class, device.system.machine);
    let found = device.engines().into_iter().find(|engine| {
        (engine.class.number(), engine.instance, gt_of(machine, *engine))
            == (class, name.engine_instance, name.gt_id)
    });
    if found.is_none() {
        return Err(Errno::EINVAL);
    }
    let width: u64 = if machine.platform.graphics.major >= 20 { 64 } else { 36 };
    words[1] = words[1] & 0xffff_ffff | width << 32;
    (words[2], words[3], words[4]) = (device.system.hardware.timestamp(), now_ns() as u64, 0);
    if caller.memory.write(args.data, bytes_of(&words)) < len { Err(Errno::EFAULT) } else { Ok(()) }
}

/// Returns bytes that begin with the number of `items`.
fn list(items: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = (items.len() as u64).to_le_bytes().to_vec();
    items.iter().for_each(|item| bytes.extend(item));
    bytes
}

/// Checks a question about firmware (`query_uc_fw_version`), whose answer is zeroes: the emulated devices have none.
fn firmware(asked: &[u8; UC_FW_VERSION_BYTES]) -> Result<(), Errno> {
    // The type and a pad; the version, which is ignored; a pad and the reserved field.
    let [kind, kind_high, pad, rest @ ..] = asked;
    let reserved = rest.get(17..).unwrap_or_default();
    if [pad].into_iter().chain(rest.first()).chain(reserved).any(|&byte| byte != 0) {
        return Err(Errno::EINVAL);
    }
    match u16::from_le_bytes([*kind, *kind_high]) {
        GUC => Ok(()),
        HUC => Err(Errno::ENODEV),
        _ => Err(Errno::EINVAL),
    }
}

impl SimDevice {
    /// Returns the answer to a query.
    ///
    /// # Errors
    /// EINVAL for an unknown query; ENODEV.
    fn answer(&self, query: u32, highest_priority: u64) -> std::result::Result<Vec<u8>, Errno> {
        let has_late_queries = self.system.machine.kernel >= LINUX_7_2;
        match query {
            DRM_XE_DEVICE_QUERY_ENGINES => Ok(self.engine_list()),
            DRM_XE_DEVICE_QUERY_MEM_REGIONS => Ok(self.region_list()),
            DRM_XE_DEVICE_QUERY_CONFIG => self.configuration(highest_priority),
            DRM_XE_DEVICE_QUERY_GT_LIST => Ok(self.gt_list()),
            HWCONFIG => Ok(Vec::new()),
            GT_TOPOLOGY => Ok(self.topology_masks()),
            UC_FW_VERSION => Ok(vec![0; UC_FW_VERSION_BYTES]),
            OA_UNITS => Ok(vec![0; OA_UNITS_BYTES]),
            PXP_STATUS if has_late_queries => Ok(vec![0; PXP_STATUS_BYTES]),
            EU_STALL if has_late_queries => self.stall_sampling(),
            _ => Err(Errno::EINVAL),
        }
    }

    fn engine_list(&self) -> Vec<u8> {
        let machine = self.system.machine;
        let mut engines = self.engines();
        engines.sort_by_key(|&engine| gt_of(machine, engine));
        let items = engines.into_iter().map(|engine| {
            let instance = drm_xe_engine_class_instance {
                engine_class: engine.class.number(),
                engine_instance: engine.instance,
                gt_id: gt_of(machine, engine),
                pad: 0,
            };
            bytes_of(&drm_xe_engine { instance, ..Zeroable::zeroed() }).to_vec()
        });
        list(&items.collect::<Vec<_>>())
    }

    fn region_list(&self) -> Vec<u8> {
        let machine = self.system.machine;
        let local_used = self.system.accounting.local_bytes_in_use();
        let objects = self.system.all();
        let bound = objects.iter().filter(|object| object.is_in_bound_memory());
        let mut items = vec![drm_xe_mem_region {
            mem_class: DRM_XE_MEM_REGION_CLASS_SYSMEM,
            min_page_size: 4096,
            total_size: SYSTEM_BYTES,
            used: bound.map(|object| object.size()).sum(),
            ..Zeroable::zeroed()
        }];
        let local = self.system.accounting.local_bytes();
        if let (Some(page), Some(local_bytes)) = (machine.platform.local_page_bytes, local) {
            items.push(drm_xe_mem_region {
                mem_class: DRM_XE_MEM_REGION_CLASS_VRAM,
                instance: 1,
                min_page_size: page,
                total_size: local_bytes,
                used: local_used,
                cpu_visible_size: local_bytes,
                cpu_visible_used: local_used,
                ..Zeroable::zeroed()
            });
        }
        list(&items.iter().map(|item| bytes_of(item).to_vec()).collect::<Vec<_>>())
    }

    /// `query_config`.
    fn configuration(&self, highest_priority: u64) -> std::result::Result<Vec<u8>, Errno> {
        let device = self.system.xe.ok_or(Errno::ENODEV)?.device;
        let (hardware, machine) = (&self.system.hardware, self.system.machine);
        let is_xe2 = device.graphics.major >= 20;
        let mut flags = DRM_XE_QUERY_CONFIG_FLAG_HAS_LOW_LATENCY;
        if device.platform.discrete {
            flags |= DRM_XE_QUERY_CONFIG_FLAG_HAS_VRAM;
        }
        if machine.kernel >= LINUX_7_2 {
            flags |= DRM_XE_QUERY_CONFIG_FLAG_HAS_DISABLE_STATE_CACHE_PERF_FIX
                | DRM_XE_QUERY_CONFIG_FLAG_HAS_PURGING_SUPPORT;
            if is_xe2 {
                flags |= DRM_XE_QUERY_CONFIG_FLAG_HAS_NO_COMPRESSION_HINT
                    | DRM_XE_QUERY_CONFIG_FLAG_HAS_CPU_ADDR_MIRROR;
            }
        } else {
            flags &= DRM_XE_QUERY_CONFIG_FLAG_HAS_VRAM;
        }
        let page = machine.platform.local_page_bytes.map_or(4096, u64::from);
        let words = [
            u64::from(hardware.id) | u64::from(hardware.revision) << 16,
            flags,
            page,
            u64::from(device.platform.address_bits),
            highest_priority,
        ];
        let mut bytes = (words.len() as u64).to_le_bytes().to_vec();
        words.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        Ok(bytes)
    }

    /// `query_gt_list`.
    fn gt_list(&self) -> Vec<u8> {
        let machine = self.system.machine;
        let graphics = machine.platform.graphics;
        let discrete = machine.caps.contains(Caps::DISCRETE);
        // Devices before Meteor Lake do not say their version.
        let version = if has_media_gt(machine) || graphics.major >= 20 {
            (graphics.major, graphics.minor)
        } else {
            (0, 0)
        };
        let gt = |gt_type, gt_id, (major, minor): (u8, u8)| drm_xe_gt {
            r#type: gt_type,
            tile_id: 0,
            gt_id,
            reference_clock: XE_CLOCK_HZ,
            near_mem_regions: if discrete { 2 } else { 1 },
            far_mem_regions: u64::from(discrete),
            ip_ver_major: major.into(),
            ip_ver_minor: minor.into(),
            ip_ver_rev: if major == 0 { 0 } else { IP_REVISION },
            ..Zeroable::zeroed()
        };
        let mut items = vec![gt(DRM_XE_QUERY_GT_TYPE_MAIN, 0, version)];
        if has_media_gt(machine) {
            items.push(gt(DRM_XE_QUERY_GT_TYPE_MEDIA, 1, (13, 0)));
        }
        list(&items.iter().map(|item| bytes_of(item).to_vec()).collect::<Vec<_>>())
    }

    /// `query_gt_topology`.
    fn topology_masks(&self) -> Vec<u8> {
        let machine = self.system.machine;
        let topology = machine.topology(self.system.hardware.gt);
        let has_compute = self.engines().iter().any(|engine| engine.class == EngineClass::Compute);
        let mut bytes = Vec::new();
        for gt in 0..=u16::from(has_media_gt(machine)) {
            let mut mask = |kind: u16, len: u32, bits: u64| {
                [gt, kind].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
                bytes.extend(len.to_le_bytes());
                bytes.extend(bits.to_le_bytes().iter().chain(&[0; 8]).take(len as usize));
            };
            let Topology { subslices, max_eus, .. } = topology.filter(|_| gt == 0).unwrap_or(Topology {
                max_slices: 0,
                max_subslices: 0,
                max_eus: 0,
                slices: 0,
                subslices: 0,
            });
            let dss = u64::from(subslices);
            mask(DSS_GEOMETRY, 16, dss);
            mask(DSS_COMPUTE, 16, if has_compute { dss } else { 0 });
            let banks = match (machine.platform.graphics.major, machine.platform.graphics.minor) {
                (12, 0..=10) => 0xff,
                (12, 55) => 0xffff_ffff,
                _ => 0,
            };
            mask(L3_BANK, 8, if gt == 0 { banks } else { 0 });
            // Xe2 counts units of 16 channels.
            match machine.platform.graphics.major {
                20.. => mask(SIMD16_EU_PER_DSS, 8, (1 << (max_eus / 2)) - 1),
                _ => mask(EU_PER_DSS, 8, (1 << max_eus) - 1),
            }
        }
        bytes
    }

    /// `query_eu_stall`.
    fn stall_sampling(&self) -> std::result::Result<Vec<u8>, Errno> {
        if self.system.machine.platform.graphics.major < 20 {
            return Err(Errno::ENODEV);
        }
        // Extensions, capabilities, bytes of a record and of a buffer, reserved, the number of rates, the rates.
        let head = [0, 1, 64, 512 << 10];
        let words = head.into_iter().chain([0; 5]).chain([STALL_RATES.len() as u64]).chain(STALL_RATES);
        Ok(words.flat_map(u64::to_le_bytes).collect())
    }
}
