//! A connection: the requests of one thread of a program at a time.

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::{Arc, MutexGuard};
use std::time::{Duration, Instant};

use gem_coherency::Errno;
use gem_coherency::platform::Driver;
use gem_coherency::units::LineRange;
use gem_coherency_protocol::{
    BUILD, MOST_PAYLOAD, Message, NOT_A_FILE, OTHER_BUILD, Received, Request, WANTS_EPOCHS, WANTS_EXITS,
    WANTS_FINDINGS, WANTS_LOADS, ask_for_senders, frames, share_memory,
};
use gem_coherency_sim::{Attempt, FileKind, OpenFile, Pages, Process, SimDevice, end_shaders_when};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::unistd::Pid;

use crate::connections::Live;
use crate::files::pair;
use crate::folder::fdinfo::{self, Head};
use crate::folder::node::Node;
use crate::folder::tree::slot;
use crate::judge::{Done, Judge};
use crate::mirror::{Forwarded, Mirror};
use crate::program::asked::Asked;
use crate::program::client::Client;
use crate::program::interrupts::is_interrupted;
use crate::program::session::Session;
use crate::sessions::{Member, Sessions};

/// The time after which a waiting request looks whether its program still exists.
const LOOK: Duration = Duration::from_millis(100);

/// A reply: the values, and a descriptor.
type Reply = Result<(Message, Option<OwnedFd>), Errno>;

/// A program's connection.
///
/// The order of the fields is that of their ends: the client is gone when the connection is, and then the test may end.
pub(crate) struct Connection {
    session: Arc<Session>,
    socket: Arc<OwnedFd>,
    client: Option<Arc<Client>>,
    live: Live,
    member: Option<Member>,
    sessions: Arc<Sessions>,
}

impl Connection {
    /// Creates the connection of a process; without one, the program has yet to say which it is.
    ///
    /// # Errors
    /// ENOMEM, ENOSPC.
    pub(crate) fn new(
        sessions: Arc<Sessions>,
        socket: OwnedFd,
        process: Option<(Arc<Client>, Option<Member>)>,
    ) -> Result<Self, Errno> {
        ask_for_senders(socket.as_raw_fd()).map_err(Errno::new)?;
        let live = sessions.common.connections.add(socket.as_fd())?;
        let (client, member) = process.map_or((None, None), |(client, member)| (Some(client), member));
        let session = Arc::clone(member.as_ref().map_or(&sessions.common, Member::session));
        Ok(Self { session, socket: Arc::new(socket), client, live, member, sessions })
    }

    /// Starts the connection's thread.
    ///
    /// # Errors
    /// EAGAIN.
    pub(crate) fn start(self, name: &str) -> Result<(), Errno> {
        let thread = std::thread::Builder::new().name(name.to_owned());
        thread.spawn(move || self.serve()).map(drop).map_err(|_| Errno::EAGAIN)
    }

    /// Carries out requests until the program closes its end.
    fn serve(mut self) {
        self.converse();
        // The process's objects may be gone now.
        self.client = None;
        self.session.update_folder();
    }

    fn converse(&mut self) {
        let mut payload = [0; MOST_PAYLOAD];
        loop {
            let fd = self.socket.as_raw_fd();
            let Ok(received) = gem_coherency_protocol::receive(fd, &mut payload) else { return };
            let Received { message, payload_bytes, descriptors, sender } = received;
            let given = descriptors.into_first();
            self.live.settle();
            self.session.files.reap();
            if let Some(judge) = self.judge() {
                judge.settle(&self.session.devices);
            }
            let payload = payload.get(..payload_bytes).unwrap_or_default();
            let reply = Request::from_number(message.number)
                .ok_or(Errno::ENOSYS)
                .and_then(|request| self.request(request, message.operands, payload, given, sender));
            self.session.update_folder();
            if let (Some(judge), Some(client)) = (self.judge(), &self.client)
                && judge.halts()
            {
                self.program(client).halt();
            }
            let sent = match &reply {
                Ok((message, Some(end))) => {
                    gem_coherency_protocol::send(fd, message, &[], &[end.as_raw_fd()])
                }
                Ok((message, None)) => gem_coherency_protocol::send(fd, message, &[], &[]),
                Err(errno) => gem_coherency_protocol::send(fd, &Message::failed(errno.get()), &[], &[]),
            };
            if sent.is_err() {
                return;
            }
        }
    }

    /// Carries out a request; its operands have their order in [`Request`].
    fn request(
        &mut self,
        request: Request,
        operands: [u64; 6],
        payload: &[u8],
        given: Option<OwnedFd>,
        sender: Option<i32>,
    ) -> Reply {
        let sender = || sender.map(Pid::from_raw).ok_or(Errno::EPROTO);
        let given = || given.map(Into::into).ok_or(Errno::EBADF);
        match (request, operands) {
            (Request::Hello, [number, pid, build, ..]) => {
                return self.hello(number, process(sender()?, pid), build, payload);
            }
            (Request::Child, _) => {
                let client = self.client()?;
                client.set_pid(sender()?);
                return Ok((Message::done([client.number()]), None));
            }
            (Request::Open, [minor, closes_on_exec, ..]) => {
                let node = self.session.node(minor).ok_or(Errno::ENODEV)?;
                return self.open(node, closes_on_exec != 0);
            }
            (Request::Reopen, [cookie, closes_on_exec, ..]) => {
                let file = self.file(cookie)?;
                let device = file.device().ok_or(Errno::ENXIO)?;
                return self.open(self.node_of(device).ok_or(Errno::ENXIO)?, closes_on_exec != 0);
            }
            (Request::Describe, [cookie, ..]) => return self.describe(cookie),
            (Request::Fdinfo, [cookie, flags, mount, inode, ..]) => {
                return self.fdinfo(cookie, Head { flags, mount, inode });
            }
            (Request::Ioctl, [cookie, code, argument, ..]) => {
                return self.ioctl(&self.file(cookie)?, code as u32, argument);
            }
            (Request::Map, [cookie, len, protection, offset, is_private, ..]) => {
                let file = self.file(cookie)?;
                // xe makes no private mappings (ttm_bo_mmap_obj); those of i915 are shared all the same.
                let is_of_xe = file.device().is_some_and(|device| device.machine().driver == Driver::Xe);
                if is_of_xe && is_private != 0 {
                    return Err(Errno::EINVAL);
                }
                let client = self.client()?;
                let map = |process: &mut Process| process.mmap_of(len, pages(protection), &file, offset);
                let done = client.with(&self.socket, map);
                self.program(client).tell_stale();
                return done.map(|address| (Message::done([address]), None));
            }
            (Request::Seek, [cookie, offset, whence, ..]) => {
                let position = self.file(cookie)?.lseek(offset as i64, whence as u32 as i32)?;
                return Ok((Message::done([position]), None));
            }
            (Request::Fork, _) => return self.fork(),
            (Request::Unmapped, [address, len, ..]) => {
                self.client()?.with(&self.socket, |process| process.unmap_pages(address, len))?;
            }
            (Request::Moved, [address, len, new_address, new_len, ..]) => {
                let move_pages =
                    |process: &mut Process| process.move_pages(address, len, new_address, new_len);
                self.client()?.with(&self.socket, move_pages)?;
            }
            (Request::Protected, [address, len, protection, ..]) => {
                let protect = |process: &mut Process| process.protect_pages(address, len, pages(protection));
                self.client()?.with(&self.socket, protect)?;
            }
            (Request::Loaded, [object, first, end, ..]) => {
                if let Some(judge) = self.judge()
                    && first < end
                {
                    judge.loaded(&self.session.devices, object, LineRange::new(first, end), frames(payload));
                }
            }
            (Request::Folder, _) => {
                let common = &self.sessions.common;
                common.folder.as_ref().ok_or(Errno::ENODEV)?.make(&common.devices)?;
            }
            (Request::Stores, _) => {
                let file = given()?;
                if let Some(judge) = self.judge() {
                    judge.add_stores(&self.session.devices, file, self.client()?.writers());
                }
            }
            (Request::Epochs, _) => {
                let file = given()?;
                if let Some(epochs) = &self.session.epochs {
                    epochs.add(file, self.client()?.writers());
                }
            }
            (Request::Sites, _) => {
                let file = given()?;
                if let Some(judge) = self.judge() {
                    judge.add_flushes(&self.session.devices, file, self.client()?.writers());
                }
            }
            (Request::BeforeExitOrClose, [cookie, ..]) => {
                if (cookie == 0 || self.file(cookie)?.device().is_some())
                    && let Some(judge) = self.judge()
                {
                    judge.before_exit_or_close(&self.program(self.client()?), cookie != 0);
                }
            }
            (Request::Exit, [status, ..]) => {
                if let (Some(member), client) = (&self.member, self.client()?) {
                    member.note_exit(client.number(), status as u32 as i32);
                }
            }
        }
        Ok((Message::default(), None))
    }

    /// ioctl(2) on a file; the judge is told what it did.
    fn ioctl(&self, file: &OpenFile, code: u32, argument: u64) -> Reply {
        let client = self.client()?;
        let on = file.device().map(AsRef::as_ref);
        let mut turn = self.judge().map(|_| self.session.turn.lock());
        let screens = self.judge().and_then(|judge| judge.before(&self.session.devices, on, code));
        // Not what the request itself will write.
        let made_stale = file.device().map_or_else(Vec::new, |device| device.stores_past_the_cache());
        let done = self.carry_out(client, file, (code, argument), &mut turn);
        file.device().into_iter().for_each(|device| device.note_stale_lines());
        let counted = file.device().and_then(|device| {
            self.session.number_of(device).map(|number| (number, device.machine().driver))
        });
        self.session.requests.count(counted, code, done);
        self.session.clock.changed();
        tracing::debug!(code = %format_args!("{code:#010x}"), ?done, "ioctl");
        if let Some(judge) = self.judge() {
            // A dma-buf's requests are logged by the devices whose objects it has.
            let is_dma_buf = matches!(file.kind(), FileKind::DmaBuf(_));
            let all = self.session.devices.iter().filter(|_| is_dma_buf);
            let program = self.program(client);
            judge.after(
                &program,
                Done {
                    on: on.into_iter().chain(all).collect(),
                    device: on,
                    code,
                    succeeded: done.is_ok(),
                    made_stale,
                    screens,
                },
            );
            program.tell_stale();
        }
        drop(turn);
        done.map(|value| (Message::done([value as u64]), None))
    }

    /// Makes a request, also on the real device if there is one.
    fn carry_out<'a>(
        &'a self,
        client: &Client,
        file: &OpenFile,
        (code, argument): (u32, u64),
        turn: &mut Option<MutexGuard<'a, ()>>,
    ) -> Result<i32, Errno> {
        let real = file.device().and_then(|device| Some((device, self.session.mirror(device)?)));
        let Some((device, mirror)) = real else {
            return self.attempt(client, file, (code, argument), turn);
        };
        let request = Forwarded { device, memory: client.memory(), code, argument };
        if let Some(answer) = mirror.fact(&request) {
            return answer;
        }
        let passed = Mirror::passed(&request);
        let software = self.attempt(client, file, (code, argument), turn);
        mirror.forward(&request, passed, software)
    }

    /// Makes a request on the software device; other threads of the program make theirs while it waits.
    fn attempt<'a>(
        &'a self,
        client: &Client,
        file: &OpenFile,
        (code, argument): (u32, u64),
        turn: &mut Option<MutexGuard<'a, ()>>,
    ) -> Result<i32, Errno> {
        let (since, socket, pid) = (Instant::now(), Arc::clone(&self.socket), client.pid());
        end_shaders_when(move || is_closed(&socket) || is_interrupted(pid));
        loop {
            let attempt =
                client.with(&self.socket, |process| process.attempt_on(file, code, argument, since));
            match attempt? {
                Attempt::Done(result) => return Ok(result),
                Attempt::Waits(waits) => {
                    let had_turn = turn.take().is_some();
                    waits.sleep(LOOK);
                    *turn = had_turn.then(|| self.session.turn.lock());
                }
            }
            // The program may have ended meanwhile, or a signal is to end it.
            if is_closed(&self.socket) || is_interrupted(pid) {
                return Err(Errno::EINTR);
            }
        }
    }

    /// Names the process, or joins the process with a number; `test` is the name of its test.
    fn hello(&mut self, number: u64, pid: Pid, build: u64, test: &[u8]) -> Reply {
        if build != BUILD {
            tracing::error!(%pid, "the library of a program is of another build");
            let reply =
                Message { operands: Message::done([0, 0, BUILD]).operands, ..Message::failed(OTHER_BUILD) };
            return Ok((reply, None));
        }
        if let Some(member) = self.sessions.join(number, test, pid)? {
            self.session = Arc::clone(member.session());
            self.member = Some(member);
        }
        let known = if number == 0 { None } else { self.session.client(number) };
        let client = known.unwrap_or_else(|| {
            let client = Client::new(&self.session, pid);
            self.member.iter().for_each(|member| member.add_program(client.number()));
            client
        });
        let number = client.number();
        self.client = Some(client);
        let judge = self.judge();
        let flag = |flag, is_wanted| if is_wanted { flag } else { 0 };
        let wants = flag(WANTS_FINDINGS, judge.is_some())
            | flag(WANTS_LOADS, judge.is_some_and(Judge::wants_loads))
            | flag(WANTS_EXITS, self.member.is_some())
            | flag(WANTS_EPOCHS, self.session.epochs.is_some());
        Ok((Message::done([number, wants, BUILD]), None))
    }

    /// Opens a node.
    ///
    /// The program has the only descriptor when the reply reaches it: a close(2) right after it closes the file.
    fn open(&self, node: Node, close_on_exec: bool) -> Reply {
        let device = self.session.devices.get(node.device).ok_or(Errno::ENXIO)?;
        let file = OpenFile::of_device(Arc::new(device.open_again(node.minor)));
        let fd = self.client()?.install(&self.socket, file, close_on_exec)?;
        Ok((Message::done([fd as u64]), None))
    }

    fn describe(&self, cookie: u64) -> Reply {
        let file = self.file(cookie)?;
        let (kind, value) = match file.kind() {
            FileKind::Device(_) => {
                let node = file.device().and_then(|device| self.node_of(device));
                (1, u64::from(node.ok_or(Errno::ENXIO)?.number()))
            }
            FileKind::DmaBuf(size) => (2, size),
            FileKind::Fence => (3, 0),
            FileKind::Syncobj => (4, 0),
        };
        Ok((Message::done([kind, value]), None))
    }

    /// Writes what /proc says of a device's file to a memory file.
    fn fdinfo(&self, cookie: u64, head: Head) -> Reply {
        let file = self.file(cookie)?;
        let device = file.device().ok_or(Errno::ENODEV)?;
        let number = self.session.number_of(device).ok_or(Errno::ENODEV)?;
        let text = fdinfo::text(device, &slot(number), head);
        let failed = |errno: nix::Error| Errno::new(errno as i32);
        let end = memfd_create(c"fdinfo", MFdFlags::MFD_CLOEXEC).map_err(failed)?;
        nix::unistd::write(&end, text.as_bytes()).map_err(failed)?;
        Ok((Message::default(), Some(end)))
    }

    /// Prepares a child process; returns its connection.
    fn fork(&self) -> Reply {
        let (theirs, ours) = pair()?;
        let process = (self.client()?.fork()?, self.member.as_ref().map(Member::another));
        Self::new(Arc::clone(&self.sessions), ours, Some(process))?.start("child")?;
        Ok((Message::default(), Some(theirs)))
    }

    /// Returns the node by which a device's file was opened.
    fn node_of(&self, device: &SimDevice) -> Option<Node> {
        let index = self.session.devices.iter().position(|other| other.is_same_device(device))?;
        let minor = device.minor();
        Some(Node { device: index, minor })
    }

    fn file(&self, cookie: u64) -> Result<OpenFile, Errno> {
        self.session.files.get(cookie).ok_or(Errno::new(NOT_A_FILE))
    }

    fn judge(&self) -> Option<&dyn Judge> {
        self.session.judge.as_deref()
    }

    /// Returns the program of a client as the judge sees it during a request.
    fn program<'a>(&'a self, client: &'a Client) -> Asked<'a> {
        Asked { session: &self.session, client, connection: &self.socket }
    }

    fn client(&self) -> Result<&Arc<Client>, Errno> {
        self.client.as_ref().ok_or(Errno::EPROTO)
    }
}

/// Returns whether the program closed its end.
fn is_closed(socket: &OwnedFd) -> bool {
    let mut ends = [PollFd::new(socket.as_fd(), PollFlags::empty())];
    poll(&mut ends, PollTimeout::ZERO).is_ok_and(|count| count > 0)
}

/// Returns the process that `sender` says it is: a child of vfork(2) speaks for its parent. What is wrong is not believed.
fn process(sender: Pid, said: u64) -> Pid {
    let said = i32::try_from(said).ok().filter(|&said| said > 0 && share_memory(sender.as_raw(), said));
    said.map_or(sender, Pid::from_raw)
}

/// Returns the protection of pages in an operand, as mmap(2) has it.
fn pages(operand: u64) -> Pages {
    match operand & 7 {
        0 => Pages::None,
        protection if protection & 4 != 0 => Pages::Executable,
        protection if protection & 2 != 0 => Pages::ReadWrite,
        _ => Pages::ReadOnly,
    }
}
