//! Prints a header of `crates/capi/include`, made by cbindgen from files of `crates/capi` and `crates/capi/pure` in the order that they are given.
//!
//! `header-tool gem_coherency|gem_coherency_exercise FILE...`

use std::path::PathBuf;
use std::process::ExitCode;

use cbindgen::{
    Braces, Builder, Config, DocumentationStyle, EnumConfig, ExportConfig, FunctionConfig, Language,
};

/// The name of the library's header.
const LIBRARY: &str = "gem_coherency";
/// The name of the header of what exercises a device.
const EXERCISE: &str = "gem_coherency_exercise";

/// The start of the library's header.
const LIBRARY_HEAD: &str = "\
/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * gem_coherency: cache coherency of GEM buffer objects on Intel GPUs.
 *
 * Made by cbindgen from crates/capi and crates/capi/pure; ci/header --write makes it anew.
 * What the functions have in common (errors, threads, ownership) stands in docs/c-api.md. */";

/// The start of the other header.
const EXERCISE_HEAD: &str = "\
/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * gem_coherency_exercise: batches, a screen, the validator of shaders, and the other agents of a software device, with which a
 * device is exercised. For tests and example drivers; a library that was installed with --library-only lacks these functions.
 *
 * Made by cbindgen from crates/capi and crates/capi/pure; ci/header --write makes it anew. */";

/// Types that no signature names: enums cross as integers, which may hold anything.
const TYPES: &[&str] = &[
    "gemco_access_kind",
    "gemco_caching",
    "gemco_caps",
    "gemco_drain_kind",
    "gemco_level",
    "gemco_log_level",
    "gemco_map_mode",
    "gemco_mocs",
    "gemco_path",
    "gemco_step",
    "gemco_upload_hint",
    "gemco_verdict",
    "gemco_xe_agent",
    "gemco_xe_memory",
    "gemco_xe_region",
    "gemco_xe_request",
    "gemco_xe_use",
    "gemco_xe_when",
];

fn config(is_library: bool) -> Config {
    let (head, guard) = match is_library {
        true => (LIBRARY_HEAD, "GEM_COHERENCY_H"),
        false => (EXERCISE_HEAD, "GEM_COHERENCY_EXERCISE_H"),
    };
    let includes: &[&str] = if is_library { &["stddef.h", "stdint.h"] } else { &["gem_coherency.h"] };
    Config {
        header: Some(head.to_owned()),
        include_guard: Some(guard.to_owned()),
        no_includes: true,
        sys_includes: includes.iter().map(|&name| name.to_owned()).collect(),
        language: Language::C,
        cpp_compat: true,
        braces: Braces::SameLine,
        line_length: 120,
        tab_width: 4,
        documentation_style: DocumentationStyle::Doxy,
        export: ExportConfig {
            include: (if is_library { TYPES } else { &[] }).iter().map(|&name| name.to_owned()).collect(),
            ..ExportConfig::default()
        },
        enumeration: EnumConfig { prefix_with_name: false, ..EnumConfig::default() },
        function: FunctionConfig { no_return: None, ..FunctionConfig::default() },
        usize_is_size_t: true,
        ..Config::default()
    }
}

/// The header without what the comments say under `# Safety`: it is for Rust, and docs/c-api.md says it for C.
fn without_safety(header: &str) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut is_safety = false;
    for line in header.lines() {
        if line.trim_start() == "* # Safety" {
            is_safety = true;
            // The empty line above.
            lines.pop_if(|last| last.trim() == "*");
        }
        is_safety &= line.trim() != "*/";
        if !is_safety {
            lines.push(line);
        }
    }
    lines.join("\n") + "\n"
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let header = arguments.next().unwrap_or_default();
    let files: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    if files.is_empty() || ![LIBRARY, EXERCISE].contains(&header.to_str().unwrap_or_default()) {
        eprintln!("usage: header-tool {LIBRARY}|{EXERCISE} FILE...");
        return ExitCode::from(2);
    }
    let builder = Builder::new().with_config(config(header == LIBRARY));
    let builder = files.iter().fold(builder, |builder, file| builder.with_src(file));
    match builder.generate() {
        Ok(bindings) => {
            let mut header = Vec::new();
            bindings.write(&mut header);
            print!("{}", without_safety(&String::from_utf8_lossy(&header)));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
