//! A server's counts; what it frees when a program's sockets close.

use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use gem_coherency_protocol::{
    BUILD, Call, MOST_PAYLOAD, Message, NOT_A_FILE, Received, Request, SOCKET, cookie, receive, send,
};
use gem_coherency_server::{Server, Settings};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};

/// A program's end of a connection.
struct Program(OwnedFd);

impl Program {
    fn start(server: &Server) -> Self {
        Self::start_as(server, std::process::id())
    }

    /// Says that the process has an id.
    fn start_as(server: &Server, pid: u32) -> Self {
        let fd = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None).unwrap();
        connect(fd.as_raw_fd(), &UnixAddr::new(&server.folder().join(SOCKET)).unwrap()).unwrap();
        let program = Self(fd);
        assert_ne!(program.request(Request::Hello, [0, pid.into(), BUILD]).0.operands[0], 0, "a number");
        program
    }

    /// Makes a request; returns the reply, and the descriptor that the server installed.
    fn request<const N: usize>(&self, request: Request, operands: [u64; N]) -> (Message, Option<OwnedFd>) {
        let socket = self.0.as_raw_fd();
        send(socket, &request.with(operands), &[], &[]).unwrap();
        let mut installed = None;
        loop {
            let Received { message, descriptors, .. } = receive(socket, &mut [0; MOST_PAYLOAD]).unwrap();
            if Call::from_number(message.number) != Some(Call::Install) {
                return (message, installed);
            }
            installed = descriptors.into_first();
            let number = installed.as_ref().unwrap().as_raw_fd() as u64;
            send(socket, &Message::done([number]), &[], &[]).unwrap();
        }
    }
}

/// Waits until the server has seen that a socket closed.
fn becomes(number: impl Fn() -> usize, wanted: usize) {
    let start = Instant::now();
    while number() != wanted {
        assert!(start.elapsed() < Duration::from_secs(10), "{} stays, not {wanted}", number());
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn the_files_of_a_program_are_freed_when_its_sockets_close() {
    let server = Server::start(&["sim:jsl"], &Settings::default()).unwrap();
    assert_eq!((server.session().programs(), server.session().open_files()), (0, 0));
    let (one, other) = (Program::start(&server), Program::start(&server));
    assert_eq!(server.session().programs(), 2);
    let file = one.request(Request::Open, [128]).1.unwrap();
    let copy = file.try_clone().unwrap();
    assert_eq!(server.session().open_files(), 1);
    let cookie = cookie(file.as_raw_fd()).unwrap();
    drop(file);
    assert_eq!(server.session().open_files(), 1, "a copy is open");
    assert_eq!(other.request(Request::Describe, [cookie]).0.operands[..2], [1, 128]);
    drop(copy);
    assert_eq!(server.session().open_files(), 0, "at once");
    assert_eq!(other.request(Request::Describe, [cookie]).0.errno, NOT_A_FILE);
    drop(one);
    becomes(|| server.session().programs(), 1);
    drop(other);
    becomes(|| server.session().programs(), 0);
}

#[test]
fn a_program_that_says_it_is_another_process_is_itself() {
    let server = Server::start(&["sim:jsl"], &Settings::default()).unwrap();
    let mut other = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let program = Program::start_as(&server, other.id());
    let file = program.request(Request::Open, [0]).1.unwrap();
    let cookie = cookie(file.as_raw_fd()).unwrap();
    // GETPARAM of the device's id, into this process's memory.
    let id = std::sync::atomic::AtomicU32::new(0);
    let param = [4_u64, std::ptr::from_ref(&id).addr() as u64];
    let request = [cookie, 0xc010_6446, param.as_ptr().addr() as u64];
    assert_eq!(program.request(Request::Ioctl, request).0.errno, 0);
    assert_eq!(id.into_inner(), 0x4e61);
    other.kill().unwrap();
    other.wait().unwrap();
}

#[test]
fn requests_are_counted_by_the_names_of_the_devices_driver() {
    let server = Server::start(&["sim:lnl", "sim:tgl"], &Settings::default()).unwrap();
    let program = Program::start(&server);
    for node in [128, 129, 129] {
        let file = program.request(Request::Open, [node]).1.unwrap();
        let cookie = cookie(file.as_raw_fd()).unwrap();
        // XE_VM_CREATE with a pointer to nothing; of i915, a request of its first memory manager, which no driver has now.
        assert_ne!(program.request(Request::Ioctl, [cookie, 0xc020_6443, 8]).0.errno, 0, "{node}");
    }
    let counts = server.session().requests();
    let named: Vec<_> = counts.iter().map(|row| (row.code, row.name, row.count)).collect();
    assert_eq!(named.len(), 2);
    assert!(named.contains(&(0xc020_6443, Some("DRM_IOCTL_XE_VM_CREATE"), 1)), "{named:?}");
    assert!(
        named.iter().any(|&(_, name, count)| name != Some("DRM_IOCTL_XE_VM_CREATE") && count == 2),
        "{named:?}"
    );
}

#[test]
fn an_unknown_request_is_refused() {
    let server = Server::start(&["sim:jsl"], &Settings::default()).unwrap();
    let program = Program::start(&server);
    assert_eq!(program.request(Request::Open, [7]).0.errno, 19, "ENODEV: no such node");
    assert_eq!(program.request(Request::Ioctl, [1, 0, 0]).0.errno, NOT_A_FILE);
    let file = program.request(Request::Open, [0]).1.unwrap();
    let cookie = cookie(file.as_raw_fd()).unwrap();
    assert_eq!(program.request(Request::Ioctl, [cookie, 0x0000_64ff, 0]).0.errno, 22, "EINVAL");
    let [count] = &server.session().requests()[..] else { panic!("one request was counted") };
    assert_eq!((count.code, count.count), (0x64ff, 1));
    send(program.0.as_raw_fd(), &Message::new(77, []), &[], &[]).unwrap();
    let reply = receive(program.0.as_raw_fd(), &mut [0; MOST_PAYLOAD]).unwrap().message;
    assert_eq!(reply.errno, 38, "ENOSYS");
}
