//! The uAPI tables against the kernel's headers, by a C compiler.
//!
//! The test generates a C program from the tables, with one comparison per line. A line that does not compile
//! names something that the header lacks: allowed for names in [`LATE`], a failure otherwise. Headers are
//! searched in `GEM_COHERENCY_UAPI_HEADERS` (a list of directories that contain `i915_drm.h`, like a kernel's
//! `include/uapi/drm`), in the system's directory, and in libdrm's. A directory without `xe_drm.h`, as libdrm's, is
//! compared without the tables of xe.

use std::collections::BTreeSet;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use gem_coherency_uapi::{Field, HEADERS, Header, Layout, XE_HEADERS};

/// Names that headers have, or have in this form, only from some kernel on: struct, or `struct size`, or
/// `struct.field`, or constant.
const LATE: &[(&str, &str)] = &[
    ("drm_i915_memory_region_info.probed_cpu_visible_size", "6.0"),
    ("drm_i915_memory_region_info.unallocated_cpu_visible_size", "6.0"),
    ("drm_i915_gem_create_ext_set_pat", "6.5"),
    ("I915_GEM_CREATE_EXT_SET_PAT", "6.5"),
    ("DRM_IOCTL_MODE_CLOSEFB", "6.8"),
    ("drm_mode_closefb", "6.8"),
    ("I915_PARAM_OA_TIMESTAMP_FREQUENCY", "6.3"),
    ("drm_syncobj_wait size", "6.6"),
    ("drm_syncobj_wait.deadline_nsec", "6.6"),
    ("DRM_IOCTL_SYNCOBJ_WAIT", "6.6"),
    ("drm_syncobj_timeline_wait size", "6.6"),
    ("drm_syncobj_timeline_wait.deadline_nsec", "6.6"),
    ("DRM_IOCTL_SYNCOBJ_TIMELINE_WAIT", "6.6"),
    ("DRM_SYNCOBJ_WAIT_FLAGS_WAIT_DEADLINE", "6.6"),
    ("drm_syncobj_eventfd", "6.6"),
    ("DRM_IOCTL_SYNCOBJ_EVENTFD", "6.6"),
    ("drm_syncobj_handle size", "7.2, or before"),
    ("drm_syncobj_handle.point", "7.2, or before"),
    ("DRM_IOCTL_SYNCOBJ_HANDLE_TO_FD", "7.2, or before"),
    ("DRM_IOCTL_SYNCOBJ_FD_TO_HANDLE", "7.2, or before"),
    ("DRM_SYNCOBJ_HANDLE_TO_FD_FLAGS_TIMELINE", "7.2, or before"),
    ("DRM_SYNCOBJ_FD_TO_HANDLE_FLAGS_TIMELINE", "7.2, or before"),
    ("drm_set_client_name", "7.2, or before"),
    ("DRM_CLIENT_NAME_MAX_LEN", "7.2, or before"),
    ("DRM_IOCTL_SET_CLIENT_NAME", "7.2, or before"),
    ("sync_set_deadline", "6.6"),
    ("SYNC_IOC_SET_DEADLINE", "6.6"),
    ("I915_PARAM_PXP_STATUS", "6.5"),
    ("I915_PARAM_HAS_CONTEXT_FREQ_HINT", "6.10"),
    ("I915_CONTEXT_PARAM_LOW_LATENCY", "6.10"),
    ("I915_CONTEXT_PARAM_CONTEXT_IMAGE", "6.10"),
    ("I915_FORMAT_MOD_4_TILED_MTL_RC_CCS", "6.7"),
    ("I915_FORMAT_MOD_4_TILED_MTL_MC_CCS", "6.7"),
    ("I915_FORMAT_MOD_4_TILED_MTL_RC_CCS_CC", "6.7"),
    ("DRM_CAP_ATOMIC_ASYNC_PAGE_FLIP", "6.8"),
    ("DRM_CLIENT_CAP_CURSOR_PLANE_HOTSPOT", "6.8"),
    ("DRM_CLIENT_CAP_PLANE_COLOR_PIPELINE", "7.2, or before"),
    ("DRM_I915_QUERY_GUC_SUBMISSION_VERSION", "6.9"),
    ("drm_xe_madvise", "7.2, or before"),
    ("DRM_IOCTL_XE_MADVISE", "7.2, or before"),
    ("drm_xe_mem_range_attr", "7.2, or before"),
    ("drm_xe_vm_query_mem_range_attr", "7.2, or before"),
    ("DRM_IOCTL_XE_VM_QUERY_MEM_RANGE_ATTRS", "7.2, or before"),
    ("drm_xe_exec_queue_set_property", "7.2, or before"),
    ("DRM_IOCTL_XE_EXEC_QUEUE_SET_PROPERTY", "7.2, or before"),
    ("DRM_XE_EXEC_QUEUE_SET_PROPERTY_MULTI_QUEUE_PRIORITY", "7.2, or before"),
    ("drm_xe_vm_get_property", "7.2, or before"),
    ("DRM_IOCTL_XE_VM_GET_PROPERTY", "7.2, or before"),
    ("DRM_XE_VM_GET_PROPERTY_FAULTS", "7.2, or before"),
    ("DRM_XE_QUERY_CONFIG_FLAG_HAS_LOW_LATENCY", "7.2, or before"),
    ("DRM_XE_QUERY_CONFIG_FLAG_HAS_CPU_ADDR_MIRROR", "7.2, or before"),
    ("DRM_XE_QUERY_CONFIG_FLAG_HAS_NO_COMPRESSION_HINT", "7.2, or before"),
    ("DRM_XE_QUERY_CONFIG_FLAG_HAS_DISABLE_STATE_CACHE_PERF_FIX", "7.2, or before"),
    ("DRM_XE_QUERY_CONFIG_FLAG_HAS_PURGING_SUPPORT", "7.2, or before"),
    ("DRM_XE_GEM_CREATE_FLAG_NO_COMPRESSION", "7.2, or before"),
    ("DRM_XE_MMAP_OFFSET_FLAG_PCI_BARRIER", "7.2, or before"),
    ("DRM_XE_VM_CREATE_FLAG_NO_VM_OVERCOMMIT", "7.2, or before"),
    ("DRM_XE_VM_BIND_FLAG_CHECK_PXP", "7.2, or before"),
    ("DRM_XE_VM_BIND_FLAG_CPU_ADDR_MIRROR", "7.2, or before"),
    ("DRM_XE_VM_BIND_FLAG_MADVISE_AUTORESET", "7.2, or before"),
    ("DRM_XE_VM_BIND_FLAG_DECOMPRESS", "7.2, or before"),
    ("DRM_XE_CONSULT_MEM_ADVISE_PREF_LOC", "7.2, or before"),
    ("DRM_XE_EXEC_QUEUE_LOW_LATENCY_HINT", "7.2, or before"),
    ("DRM_XE_MAX_SYNCS", "7.2 and 6.12, or before"),
    ("DRM_XE_MEM_RANGE_ATTR_PREFERRED_LOC", "7.2, or before"),
    ("DRM_XE_MEM_RANGE_ATTR_ATOMIC", "7.2, or before"),
    ("DRM_XE_MEM_RANGE_ATTR_PAT", "7.2, or before"),
    ("DRM_XE_VMA_ATTR_PURGEABLE_STATE", "7.2, or before"),
];

/// A comparison: its subject, the C expression, and the expected value.
#[derive(Clone, Debug)]
struct Row {
    what: String,
    expression: String,
    value: u64,
}

impl Row {
    fn new(what: String, expression: String, value: u64) -> Self {
        Self { what, expression, value }
    }

    /// Returns the first kernel whose headers have the row, if it is late.
    fn late(&self) -> Option<&'static str> {
        let is_it = |name: &str| {
            self.what == name || self.what.strip_prefix(name).is_some_and(|rest| rest.starts_with(['.', ' ']))
        };
        LATE.iter().find(|(name, _)| is_it(name)).map(|(_, since)| *since)
    }
}

/// Returns the comparisons of a struct.
fn layout_rows(layout: &Layout) -> Vec<Row> {
    let name = layout.name;
    let mut rows =
        vec![Row::new(format!("{name} size"), format!("sizeof(struct {name})"), layout.size as u64)];
    for field in layout.fields.iter().filter(|field| !field.name.starts_with("__")) {
        let what = format!("{name}.{}", field.name);
        let offset = format!("offsetof(struct {name}, {})", field.name);
        rows.push(Row::new(format!("{what} offset"), offset, field.offset as u64));
        if field.size > 0 {
            let size = format!("sizeof(((struct {name} *)0)->{})", field.name);
            rows.push(Row::new(format!("{what} size"), size, field.size as u64));
        }
    }
    rows
}

/// Returns every comparison of these headers' tables.
fn rows<'a>(headers: impl Iterator<Item = &'a Header> + Clone) -> Vec<Row> {
    let all = headers.clone().flat_map(|header| header.layouts);
    let mut rows: Vec<Row> = all.flat_map(layout_rows).collect();
    let codes = headers.clone().flat_map(|header| header.ioctls);
    rows.extend(codes.map(|&(name, code)| Row::new(name.to_owned(), name.to_owned(), code.into())));
    let values = headers.flat_map(|header| header.constants);
    rows.extend(values.map(|&(name, value)| Row::new(name.to_owned(), name.to_owned(), value)));
    rows
}

/// The result of the comparisons.
#[derive(Debug, Default)]
struct Outcome {
    equal: usize,
    /// Rows that differ in the header, or that it lacks without being late.
    wrong: Vec<String>,
    /// Rows for which the header is too old.
    lacking: Vec<String>,
}

/// A C compiler and a directory of headers.
struct Compiler {
    /// The directory of `i915_drm.h` and `drm.h`.
    headers: PathBuf,
    /// The directory of the program, with a link `drm` to the headers; other headers are the system's.
    directory: PathBuf,
}

impl Compiler {
    /// Returns the headers that the program includes.
    fn included(&self) -> impl Iterator<Item = &'static Header> + Clone {
        let xe: &[Header] = if self.headers.join("xe_drm.h").exists() { XE_HEADERS } else { &[] };
        HEADERS.iter().chain(xe)
    }

    /// Compares `rows` with the headers.
    fn compare(&self, mut rows: Vec<Row>) -> Outcome {
        let mut outcome = Outcome::default();
        if let Err(lines) = self.build(&rows) {
            let mut line = 0;
            rows.retain(|row| {
                line += 1;
                if lines.contains(&line) {
                    match row.late() {
                        Some(since) => outcome.lacking.push(format!("{} (since {since})", row.what)),
                        None => outcome.wrong.push(format!("{}: not in the header", row.what)),
                    }
                }
                !lines.contains(&line)
            });
            self.build(&rows).expect("what is left compiles");
        }
        let output = Command::new(self.directory.join("rows")).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(text.lines().count(), rows.len());
        for (row, line) in rows.iter().zip(text.lines()) {
            let value: u64 = line.parse().unwrap();
            if value == row.value {
                outcome.equal += 1;
            } else if let Some(since) = row.late() {
                outcome.lacking.push(format!("{} (since {since})", row.what));
            } else {
                outcome.wrong.push(format!("{}: {:#x} here, {value:#x} in C", row.what, row.value));
            }
        }
        outcome
    }

    /// Builds the program; on failure, returns the rows that do not compile, counted from 1.
    fn build(&self, rows: &[Row]) -> Result<(), BTreeSet<usize>> {
        let mut source = String::from(PROLOGUE);
        for header in self.included() {
            source += &format!("#include <{}>\n", header.name);
        }
        source += "int main(void) {\n#line 1 \"rows\"\n";
        for row in rows {
            source += &format!("printf(\"%llu\\n\", (unsigned long long)({}));\n", row.expression);
        }
        source += "return 0; }\n";
        let file = self.directory.join("rows.c");
        fs::write(&file, source).unwrap();
        let output = Command::new("cc")
            .args(["-std=gnu11", "-w", "-fmax-errors=0", "-I"])
            .arg(&self.directory)
            .arg("-o")
            .arg(self.directory.join("rows"))
            .arg(&file)
            .output()
            .unwrap();
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let line = |message: &str| message.strip_prefix("rows:")?.split(':').next()?.parse().ok();
        let errors = text.lines().filter(|message| message.contains("error"));
        let lines: BTreeSet<usize> = errors.filter_map(line).collect();
        assert!(!lines.is_empty(), "{text}");
        Err(lines)
    }
}

/// Definitions that make headers from a kernel tree usable unchanged, and the includes for printing.
const PROLOGUE: &str = "#define __user\n#include <stddef.h>\n#include <stdio.h>\n#include <fcntl.h>\n";

impl Drop for Compiler {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Returns a compiler per directory with headers, or the reason why there is none.
fn compilers(test: &str) -> Result<Vec<Compiler>, String> {
    if Command::new("cc").arg("--version").output().is_err() {
        return Err("there is no C compiler `cc`".to_owned());
    }
    let named = env::var_os("GEM_COHERENCY_UAPI_HEADERS").unwrap_or_default();
    let system = ["/usr/include/drm", "/usr/include/libdrm"].map(PathBuf::from);
    let compilers: Vec<_> = env::split_paths(&named)
        .chain(system)
        .filter(|headers| headers.join("i915_drm.h").exists())
        .enumerate()
        .map(|(index, headers)| {
            let name = format!("gem-coherency-{}-{test}-{index}", std::process::id());
            let directory = env::temp_dir().join(name);
            fs::create_dir_all(&directory).unwrap();
            symlink(&headers, directory.join("drm")).unwrap();
            Compiler { headers, directory }
        })
        .collect();
    if compilers.is_empty() {
        return Err("there is no i915_drm.h (Debian: libdrm-dev)".to_owned());
    }
    Ok(compilers)
}

/// Prints a line that the test harness does not capture.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[test]
fn the_tables_agree_with_the_headers() {
    let compilers = match compilers("tables") {
        Ok(compilers) => compilers,
        Err(why) => {
            return say(&format!(
                "{why}: {} comparisons skipped",
                rows(HEADERS.iter().chain(XE_HEADERS)).len()
            ));
        }
    };
    for compiler in compilers {
        let outcome = compiler.compare(rows(compiler.included()));
        println!(
            "{}: {} equal, {} skipped",
            compiler.headers.display(),
            outcome.equal,
            outcome.lacking.len()
        );
        if compiler.included().count() == HEADERS.len() {
            println!("skipped, there is no xe_drm.h: {} comparisons", rows(XE_HEADERS.iter()).len());
        }
        for lacking in &outcome.lacking {
            println!("skipped, the header is older: {lacking}");
        }
        assert!(outcome.wrong.is_empty(), "{}", outcome.wrong.join("\n"));
        assert!(outcome.equal > 200, "{outcome:?}");
    }
}

#[test]
fn wrong_rows_are_reported() {
    let compilers = match compilers("wrong") {
        Ok(compilers) => compilers,
        Err(why) => return say(&format!("{why}: 1 negative test skipped")),
    };
    let wrong = Layout {
        name: "drm_i915_gem_wait",
        size: 24,
        fields: &[
            Field { name: "bo_handle", offset: 0, size: 4 },
            Field { name: "timeout_ns", offset: 4, size: 4 },
            Field { name: "no_such_field", offset: 8, size: 8 },
        ],
    };
    for compiler in compilers {
        let outcome = compiler.compare(layout_rows(&wrong));
        let expected = [
            "drm_i915_gem_wait.no_such_field offset: not in the header",
            "drm_i915_gem_wait.no_such_field size: not in the header",
            "drm_i915_gem_wait size: 0x18 here, 0x10 in C",
            "drm_i915_gem_wait.timeout_ns offset: 0x4 here, 0x8 in C",
            "drm_i915_gem_wait.timeout_ns size: 0x4 here, 0x8 in C",
        ];
        assert_eq!(outcome.wrong, expected);
        assert_eq!((outcome.equal, outcome.lacking.len()), (2, 0));
    }
}
