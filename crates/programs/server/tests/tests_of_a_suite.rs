//! A server whose programs are tests of a suite: each test has devices and a judge of its own, and an end.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use gem_coherency::units::LineRange;
use gem_coherency_protocol::{
    BUILD, Call, Frame, MOST_PAYLOAD, Message, NOT_A_FILE, OTHER_BUILD, Received, Request, SOCKET,
    WANTS_EXITS, cookie, receive, send,
};
use gem_coherency_server::{
    Done, Ended, Judge, Program, RecordWriters, Server, Session, Settings, Suite, Test,
};
use gem_coherency_sim::{Screens, SimDevice};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, UnixAddr, connect, socket};

/// DRM_IOCTL_I915_GEM_CREATE.
const CREATE: u64 = 0xc010_645b;

/// The ends of tests: names, ends, and the requests that each session counted.
type Ends = Arc<Mutex<Vec<(String, Ended, u64)>>>;

#[derive(Debug, Default)]
struct Noted {
    ends: Ends,
    /// The programs are halted at their requests.
    halts: bool,
}

#[derive(Debug)]
struct OneTest {
    name: String,
    ends: Ends,
    halts: bool,
}

#[derive(Debug)]
struct Silent {
    halts: bool,
}

impl Suite for Noted {
    fn begin(&self, name: &str) -> Box<dyn Test> {
        Box::new(OneTest { name: name.to_owned(), ends: Arc::clone(&self.ends), halts: self.halts })
    }
}

impl Test for OneTest {
    fn judge(&self) -> Arc<dyn Judge> {
        Arc::new(Silent { halts: self.halts })
    }

    fn end(&self, session: &Session, ended: Ended) {
        let requests = session.requests().iter().map(|request| request.count).sum();
        self.ends.lock().unwrap().push((self.name.clone(), ended, requests));
    }
}

impl Judge for Silent {
    fn begin(&self, _: &[SimDevice]) {}
    fn wants_loads(&self) -> bool {
        false
    }
    fn add_stores(&self, _: &[SimDevice], _: File, _: &Arc<RecordWriters>) {}
    fn add_flushes(&self, _: &[SimDevice], _: File, _: &Arc<RecordWriters>) {}
    fn before(&self, _: &[SimDevice], _: Option<&SimDevice>, _: u32) -> Option<Screens> {
        None
    }
    fn after(&self, _: &dyn Program, _: Done<'_>) {}
    fn loaded(&self, _: &[SimDevice], _: u64, _: LineRange, _: Vec<Frame>) {}
    fn before_exit_or_close(&self, _: &dyn Program, _: bool) {}
    fn settle(&self, _: &[SimDevice]) {}
    fn halts(&self) -> bool {
        self.halts
    }
    fn sees_loads(&self, _: u64) -> bool {
        false
    }
    fn stale_lines(&self, _: u64) -> Vec<LineRange> {
        Vec::new()
    }
}

/// A program's end of a connection.
struct Connected {
    socket: OwnedFd,
    number: u64,
}

fn server(halts: bool) -> (Server, Ends) {
    let ends = Ends::default();
    let suite = Arc::new(Noted { ends: Arc::clone(&ends), halts });
    let settings = Settings { suite: Some(suite), ..Settings::default() };
    (Server::start(&["sim:jsl"], &settings).unwrap(), ends)
}

/// Connects, and says a number, a build and a name.
fn hello(server: &Server, number: u64, build: u64, name: &str) -> (OwnedFd, Message) {
    let fd = socket(AddressFamily::Unix, SockType::SeqPacket, SockFlag::SOCK_CLOEXEC, None).unwrap();
    connect(fd.as_raw_fd(), &UnixAddr::new(&server.folder().join(SOCKET)).unwrap()).unwrap();
    let message = Request::Hello.with([number, std::process::id().into(), build]);
    send(fd.as_raw_fd(), &message, name.as_bytes(), &[]).unwrap();
    loop {
        let message = receive(fd.as_raw_fd(), &mut [0; MOST_PAYLOAD]).unwrap().message;
        if message.number == 0 {
            return (fd, message);
        }
        send(fd.as_raw_fd(), &Message::default(), &[], &[]).unwrap();
    }
}

impl Connected {
    fn start(server: &Server, name: &str) -> Self {
        Self::of_process(server, 0, name)
    }

    /// Another connection of the process with a number.
    fn of_process(server: &Server, number: u64, name: &str) -> Self {
        let (socket, reply) = hello(server, number, BUILD, name);
        assert_eq!((reply.errno, reply.operands[1] & WANTS_EXITS), (0, WANTS_EXITS));
        Self { socket, number: reply.operands[0] }
    }

    /// Makes a request; returns the reply, the descriptor that the server installed, and whether it halts the program.
    fn request<const N: usize>(
        &self,
        request: Request,
        operands: [u64; N],
    ) -> (Message, Option<OwnedFd>, bool) {
        let socket = self.socket.as_raw_fd();
        send(socket, &request.with(operands), &[], &[]).unwrap();
        let (mut installed, mut halts) = (None, false);
        loop {
            let Received { message, descriptors, .. } = receive(socket, &mut [0; MOST_PAYLOAD]).unwrap();
            let answer = match Call::from_number(message.number) {
                Some(Call::Install) => {
                    installed = descriptors.into_first();
                    Message::done([installed.as_ref().unwrap().as_raw_fd() as u64])
                }
                Some(Call::Halt) => {
                    halts = true;
                    Message::default()
                }
                _ => return (message, installed, halts),
            };
            send(socket, &answer, &[], &[]).unwrap();
        }
    }

    /// Opens the device; returns the descriptor and its cookie.
    fn open(&self) -> (OwnedFd, u64) {
        let file = self.request(Request::Open, [0]).1.unwrap();
        let cookie = cookie(file.as_raw_fd()).unwrap();
        (file, cookie)
    }

    /// Creates an object; returns its handle.
    fn create(&self, cookie: u64) -> u32 {
        let mut create = [4096_u64, 0];
        let argument = (&raw mut create).expose_provenance() as u64;
        assert_eq!(self.request(Request::Ioctl, [cookie, CREATE, argument]).0.errno, 0);
        create[1] as u32
    }
}

/// Returns the ends when all tests have ended.
fn all(server: &Server, ends: &Ends) -> Vec<(String, Ended, u64)> {
    server.finish_tests(Duration::from_secs(10));
    let mut ends = ends.lock().unwrap().clone();
    ends.sort_by(|one, other| one.0.cmp(&other.0));
    ends
}

#[test]
fn tests_that_run_at_once_do_not_mix() {
    let (server, ends) = server(false);
    let [one, other, same] = ["one", "other", "one"].map(|name| Connected::start(&server, name));
    let (_file, cookie) = one.open();
    let (_other_file, other_cookie) = other.open();
    assert_eq!([one.create(cookie), one.create(cookie), other.create(other_cookie)], [1, 2, 1]);
    assert_eq!(other.request(Request::Describe, [cookie]).0.errno, NOT_A_FILE, "a file of another test");
    assert_eq!(same.request(Request::Describe, [cookie]).0.errno, 0, "a file of the same test");
    assert_eq!(server.session().programs(), 0);
    drop((one, other, same));
    let ends = all(&server, &ends);
    let counted: Vec<_> =
        ends.iter().map(|(name, ended, requests)| (name.as_str(), ended.programs, *requests)).collect();
    assert_eq!(counted, [("one", 2, 2), ("other", 1, 1)]);
}

#[test]
fn a_test_ends_with_its_last_connection_and_tells_who_did_not_exit() {
    let (server, ends) = server(false);
    let (exits, killed) = (Connected::start(&server, "a"), Connected::start(&server, "b"));
    let again = Connected::of_process(&server, exits.number, "a");
    assert_eq!(again.number, exits.number);
    assert_eq!(exits.request(Request::Exit, [3]).0.errno, 0);
    drop(exits);
    assert!(ends.lock().unwrap().is_empty(), "a connection is left");
    drop((again, killed));
    let ends = all(&server, &ends);
    let [(_, exited, _), (_, lost, _)] = &ends[..] else { panic!("two tests: {ends:?}") };
    assert_eq!((exited.programs, exited.unfinished, exited.status), (1, 0, 3));
    assert_eq!((lost.programs, lost.unfinished, lost.status), (1, 1, 0));
}

#[test]
fn a_program_without_a_name_is_a_test_of_its_own() {
    let (server, ends) = server(false);
    let programs = [Connected::start(&server, ""), Connected::start(&server, "")];
    let again = Connected::of_process(&server, programs[0].number, "");
    assert_eq!(again.number, programs[0].number);
    drop((programs, again));
    let ends = all(&server, &ends);
    assert_eq!(ends.iter().map(|(_, ended, _)| ended.programs).collect::<Vec<_>>(), [1, 1]);
    let own = std::env::args().next().unwrap();
    let program = own.rsplit('/').next().unwrap();
    assert!(ends.iter().all(|(name, ..)| name.starts_with(program)), "{ends:?}");
}

#[test]
fn a_test_that_goes_on_is_ended_when_the_server_stops() {
    let (server, ends) = server(false);
    let program = Connected::start(&server, "stays");
    server.finish_tests(Duration::ZERO);
    assert_eq!(ends.lock().unwrap()[0].1.unfinished, 1);
    drop(program);
    assert_eq!(all(&server, &ends).len(), 1, "once");
    assert_eq!(hello(&server, 0, BUILD, "stays").1.errno, 19, "ENODEV: the suite has ended");
}

#[test]
fn a_judge_halts_a_program_during_its_request() {
    for halts in [true, false] {
        let (server, _) = server(halts);
        let program = Connected::start(&server, "halted");
        let (reply, _, halted) = program.request(Request::Describe, [1]);
        assert_eq!((reply.errno, halted), (NOT_A_FILE, halts));
    }
}

#[test]
fn a_library_of_another_build_is_refused_and_gets_the_servers_build() {
    let (server, ends) = server(false);
    let (_socket, reply) = hello(&server, 0, BUILD + 1, "other");
    assert_eq!((reply.errno, reply.operands[2]), (OTHER_BUILD, BUILD));
    assert!(all(&server, &ends).is_empty());
}
