//! The files that stand for sysfs and debugfs.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use gem_coherency_protocol::{FOLDER, MOST_PAYLOAD, Request, SOCKET, receive, send};
use gem_coherency_server::{ServeError, Server, Settings};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, bind, connect, socket};

/// Starts a server of devices that a program has looked at; returns it with the folder of its files.
fn server(devices: &[&str]) -> (Server, PathBuf) {
    let server = Server::start(devices, &Settings::default()).unwrap();
    let root = server.folder().join(FOLDER);
    assert_eq!(ask(server.folder()), 0);
    (server, root)
}

/// Asks the server at `folder` for its files, as a program that it does not know; returns the errno.
fn ask(folder: &Path) -> i32 {
    let fd = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None).unwrap();
    connect(fd.as_raw_fd(), &UnixAddr::new(&folder.join(SOCKET)).unwrap()).unwrap();
    send(fd.as_raw_fd(), &Request::Folder.with([]), &[], &[]).unwrap();
    receive(fd.as_raw_fd(), &mut [0; MOST_PAYLOAD]).unwrap().message.errno
}

/// Returns the names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn files_are_made_when_a_program_asks_and_end_with_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { folder: Some(folder.path().to_path_buf()), ..Settings::default() };
    let server = Server::start(&["sim:glk"], &settings).unwrap();
    assert_eq!(names(folder.path()), [SOCKET]);
    for time in 0..2 {
        assert_eq!(ask(folder.path()), 0, "{time}");
        assert_eq!(names(folder.path()), [FOLDER, SOCKET], "{time}");
    }
    assert_eq!(server.session().programs(), 0);
    drop(server);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_folder_of_another_is_refused_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { folder: Some(folder.path().to_path_buf()), ..Settings::default() };
    let other = folder.path().join(FOLDER);
    fs::create_dir(&other).unwrap();
    let refused = Server::start(&["sim:glk"], &settings);
    assert!(matches!(refused, Err(ServeError::File { path, .. }) if path == other));
    assert!(other.exists());
    // It appears later.
    fs::remove_dir(&other).unwrap();
    let server = Server::start(&["sim:glk"], &settings).unwrap();
    fs::create_dir(&other).unwrap();
    fs::write(other.join("file"), "").unwrap();
    assert_eq!(ask(folder.path()), 5, "EIO");
    drop(server);
    assert_eq!(names(folder.path()), [FOLDER]);
    assert_eq!(names(&other), ["file"]);
}

#[test]
fn a_file_in_the_place_of_the_socket_is_refused_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { folder: Some(folder.path().to_path_buf()), ..Settings::default() };
    let socket = folder.path().join(SOCKET);
    fs::write(&socket, "precious").unwrap();
    let refused = Server::start(&["sim:glk"], &settings).map(drop);
    assert!(matches!(&refused, Err(ServeError::File { path, .. }) if *path == socket), "{refused:?}");
    assert_eq!(fs::read_to_string(&socket).unwrap(), "precious");
}

#[test]
fn a_server_starts_where_one_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings { folder: Some(folder.path().to_path_buf()), ..Settings::default() };
    let server = Server::start(&["sim:glk"], &settings).unwrap();
    let refused = Server::start(&["sim:glk"], &settings).map(drop);
    assert!(refused.unwrap_err().to_string().contains("a server is running here"));
    assert_eq!(ask(folder.path()), 0);
    // What a killed server leaves: its files, and a socket that nobody has.
    let [files, kept] = [folder.path().join(FOLDER), folder.path().join("kept")];
    fs::rename(&files, &kept).unwrap();
    drop(server);
    fs::rename(&kept, &files).unwrap();
    let fd = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None).unwrap();
    bind(fd.as_raw_fd(), &UnixAddr::new(&folder.path().join(SOCKET)).unwrap()).unwrap();
    drop(fd);
    assert_eq!(names(folder.path()), [FOLDER, SOCKET]);
    let server = Server::start(&["sim:glk"], &settings).unwrap();
    assert_eq!(names(folder.path()), [SOCKET]);
    assert_eq!(ask(folder.path()), 0);
    drop(server);
    assert!(names(folder.path()).is_empty());
}

#[test]
fn a_server_that_does_not_start_leaves_no_socket() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(FOLDER)).unwrap();
    let settings = Settings { folder: Some(folder.path().join("later/..")), ..Settings::default() };
    Server::start(&["sim:glk"], &settings).unwrap_err();
    assert_eq!(names(folder.path()), ["later", FOLDER]);
    fs::remove_dir(folder.path().join(FOLDER)).unwrap();
    let server = Server::start(&["sim:glk"], &settings).unwrap();
    assert_eq!(server.folder(), folder.path().canonicalize().unwrap());
}

/// Opens a file as a test suite does, which creates none, and writes to it.
fn put(path: &Path, value: &str) -> std::io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

#[test]
fn a_node_links_to_its_function_by_the_address() {
    let (_server, root) = server(&["sim:glk", "sim:tgl"]);
    for (node, slot) in [("card0", "0000:00:02.0"), ("card1", "0000:00:03.0"), ("renderD128", "0000:00:02.0")]
    {
        let link = root.join("sys/class/drm").join(node).join("device");
        let text = fs::read_link(&link).unwrap();
        assert_eq!(text.file_name().unwrap(), slot, "{node}");
        let place = root.join("sys/devices/pci0000:00").join(slot);
        assert_eq!(link.canonicalize().unwrap(), place.canonicalize().unwrap(), "{node}");
    }
}

#[test]
fn each_device_has_its_driver_and_no_other() {
    let devices = [("sim:glk", "i915"), ("sim:lnl", "xe"), ("sim:tgl,driver=xe", "xe"), ("sim:tgl", "i915")];
    let (_server, root) = server(&devices.map(|(name, _)| name));
    for (number, (name, driver)) in devices.iter().enumerate() {
        let slot = format!("0000:00:{:02x}.0", 2 + number);
        let place = root.join("sys/class/drm").join(format!("card{number}")).join("device");
        let uevent = fs::read_to_string(place.join("uevent")).unwrap();
        assert_eq!(uevent.lines().next(), Some(format!("DRIVER={driver}").as_str()), "{name}");
        assert!(uevent.contains(&format!("PCI_SLOT_NAME={slot}\n")), "{name}: {uevent}");
        let bound = root.join("sys/bus/pci/drivers").join(driver);
        assert_eq!(place.join("driver").canonicalize().unwrap(), bound.canonicalize().unwrap(), "{name}");
        assert_eq!(bound.join(&slot).canonicalize().unwrap(), place.canonicalize().unwrap(), "{name}");
        for minor in [number, 128 + number] {
            let debug = root.join("sys/kernel/debug/dri").join(minor.to_string());
            let said = fs::read_to_string(debug.join("name")).unwrap();
            assert_eq!(said, format!("{driver} dev={slot} unique={slot}\n"), "{name}");
            let files = match *driver {
                "i915" => ["i915_gem_drop_caches", "i915_gem_objects", "i915_wedged", "name"].as_slice(),
                // A link of 7.2, to the folder of the tile.
                _ if debug.join("tile0").exists() => &["forcewake_all", "gt0", "info", "name", "tile0"],
                _ => &["forcewake_all", "gt0", "info", "name"],
            };
            assert_eq!(names(&debug), files, "{name}");
            if *driver == "xe" {
                let table = fs::read_to_string(debug.join("gt0/pat")).unwrap();
                assert!(table.starts_with("PAT table:"), "{name}: {table}");
            }
        }
    }
    let of_driver = |driver: &str| names(&root.join("sys/bus/pci/drivers").join(driver));
    assert_eq!(of_driver("i915"), ["0000:00:02.0", "0000:00:05.0"]);
    assert_eq!(of_driver("xe"), ["0000:00:03.0", "0000:00:04.0"]);
}

#[test]
fn only_modules_of_drivers_of_the_devices_are_loaded() {
    let parameters = |driver: &str| match driver {
        "i915" => ["enable_hangcheck", "modeset", "prefault_disable", "reset"].as_slice(),
        _ => &["force_execlist", "probe_display"],
    };
    for (devices, drivers) in [
        (["sim:glk"].as_slice(), ["i915"].as_slice()),
        (&["sim:lnl"], &["xe"]),
        (&["sim:bmg", "sim:glk"], &["i915", "xe"]),
    ] {
        let (_server, root) = server(devices);
        for folder in ["sys/module", "sys/bus/pci/drivers"] {
            assert_eq!(names(&root.join(folder)), drivers, "{devices:?} {folder}");
        }
        for driver in drivers {
            let folder = root.join("sys/module").join(driver).join("parameters");
            assert_eq!(names(&folder), parameters(driver), "{devices:?}");
        }
    }
}

#[test]
fn frequencies_are_where_the_driver_has_them() {
    let (_server, root) = server(&["sim:tgl", "sim:tgl,driver=xe"]);
    for (card, own, other) in [
        ("card0", "gt_min_freq_mhz gt_max_freq_mhz", "device/tile0/gt0/freq0/min_freq"),
        ("card1", "device/tile0/gt0/freq0/min_freq device/tile0/gt0/freq0/max_freq", "gt_min_freq_mhz"),
    ] {
        let card = root.join("sys/class/drm").join(card);
        let read: Vec<_> = own.split(' ').map(|file| fs::read_to_string(card.join(file)).unwrap()).collect();
        assert_eq!(read, ["300\n", "1000\n"], "{own}");
        assert!(!card.join(other).exists(), "{other}");
    }
}

#[test]
fn caches_can_be_dropped_by_debugfs() {
    let (_server, root) = server(&["sim:glk", "sim:tgl"]);
    for number in ["0", "1", "128", "129"] {
        let folder = root.join("sys/kernel/debug/dri").join(number);
        for (file, shown) in [("i915_gem_drop_caches", "0x000001ff\n"), ("i915_wedged", "0\n")] {
            let file = folder.join(file);
            assert_eq!(fs::read_to_string(&file).unwrap(), shown, "{number}");
            assert_eq!(put(&file, "0x1ff").map_err(|error| error.kind()), Ok(()), "{number}");
        }
        let missing = put(&folder.join("i915_missing"), "1").map_err(|error| error.kind());
        assert_eq!(missing, Err(ErrorKind::NotFound), "{number}");
    }
}

#[test]
fn the_bus_shows_the_size_of_the_aperture() {
    let (_server, root) = server(&["sim:glk", "sim:dg2", "sim:i830", "sim:tgl,driver=xe"]);
    let bus = root.join("sys/bus/pci/devices");
    for (slot, place, bytes) in
        [("0000:00:02.0", 2, 256 << 20), ("0000:00:04.0", 0, 128 << 20), ("0000:00:05.0", 2, 256 << 20)]
    {
        let lines = fs::read_to_string(bus.join(slot).join("resource")).unwrap();
        let line: Vec<_> = lines.lines().nth(place).unwrap().split(' ').collect();
        let [start, end] = [0, 1].map(|at| u64::from_str_radix(&line[at][2..], 16).unwrap());
        assert_eq!(end + 1 - start, bytes, "{slot}");
    }
    // A discrete device has none.
    let lines = fs::read_to_string(bus.join("0000:00:03.0/resource")).unwrap();
    assert_eq!(lines.split_whitespace().filter(|word| !word.trim_matches(['0', 'x']).is_empty()).count(), 0);
}
