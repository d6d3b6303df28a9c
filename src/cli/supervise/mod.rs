//! Runs one command as a child and stays with it until nothing of it is left. Knows nothing of runs or journals.
//!
//! On a terminal the command stays in legbook's process group. To the terminal and the shell the two are one job: the
//! command has the foreground where legbook has it, Ctrl-C and Ctrl-Z reach both, a pipeline around legbook works on.
//! What is sent to legbook alone is passed on to the command. Without a terminal the command leads a group of its own,
//! and what is sent to legbook, once or several times, reaches this group once; and the command, if it has left it.
//!
//! legbook is the child subreaper of all that the command starts. Where the command has ended, every descendant left
//! is found by its parent's pid, whatever group or session it made for itself, told to end and at last killed.
//!
//! If legbook itself is killed, the command goes on; whoever recovers the run decides about it.

mod descendants;
mod events;
mod terminal;

use std::collections::HashSet;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::time::Duration;

use legbook::clock::Clock;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::{Pid, getpgid, getpgrp};

use descendants::Family;
use events::{Deadline, Event, Events, Received};

/// How long a process may take to end after SIGTERM, before SIGKILL (contract store.md, the command line).
const GRACE: Duration = Duration::from_secs(5);

/// How a command ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// By itself, with this exit code (0 to 255).
    Exited(i32),
    /// By a signal other than SIGINT and SIGTERM, of this number.
    Signaled(i32),
    /// legbook ended it, because its time was over.
    TimedOut,
    /// By SIGINT or SIGTERM: one that legbook was sent and passed on, however the command took it, or one that the
    /// command got from elsewhere and ended of.
    Canceled {
        /// SIGINT or SIGTERM.
        signal: Signal,
        /// The exit code of the command, 128+N where signal N ended it.
        code: i32,
    },
    /// It never began: there is no such program.
    NotFound,
    /// It never began: the program is there, and the system refuses to run it.
    CannotExecute(io::Error),
}

impl Ended {
    /// The exit code that tells the same: the command's own, 128+N after signal N, 124 after the timeout, 127 and 126
    /// where it is not there and can't be run.
    pub(crate) fn exit_code(&self) -> u8 {
        let code = match self {
            Self::Exited(code) | Self::Canceled { code, .. } => *code,
            Self::Signaled(signal) => 128 + signal,
            Self::TimedOut => 124,
            Self::NotFound => 127,
            Self::CannotExecute(_) => 126,
        };
        u8::try_from(code).unwrap_or(u8::MAX)
    }
}

/// A legbook that is ready to run one command.
///
/// From [`Supervisor::prepare`] on, signals no longer end this process: they wait for the command. They stay without
/// effect after its end, so that the outcome can be written. What may take long before the command asks
/// [`Supervisor::told_to_end`].
#[derive(Debug)]
pub(crate) struct Supervisor {
    events: Events,
}

impl Supervisor {
    /// Takes over the signals and the orphans of this process. `clock` measures the timeout and the grace.
    ///
    /// # Errors
    /// The operating system's refusal of either.
    pub(crate) fn prepare(clock: Arc<dyn Clock>) -> io::Result<Self> {
        prctl::set_child_subreaper(true)?;
        Ok(Self { events: Events::listen(clock)? })
    }

    /// The signal that was sent to end legbook before there is a command; forgets the others that came.
    pub(crate) fn told_to_end(&self) -> Option<Signal> {
        let ending = [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM];
        self.events.signals_so_far().find(|signal| ending.contains(signal))
    }

    /// Starts `command`, waits for its end and ends what it left running.
    ///
    /// A command that takes longer than `timeout`, and one that legbook was told to end, gets SIGTERM (or the signal
    /// that came), after 5 s SIGKILL.
    ///
    /// # Errors
    /// The operating system's, where the child can't be watched. That it could not be started is an [`Ended`].
    pub(crate) fn run(self, mut command: Command, timeout: Option<Duration>) -> io::Result<Ended> {
        if let Some(timeout) = timeout {
            self.events.after(timeout, Deadline::Timeout)?;
        }
        let family = Family::before_command();
        let on_terminal = terminal::is_there();
        if !on_terminal {
            command.process_group(0);
        }
        let child = match command.spawn() {
            Ok(child) => child,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Ended::NotFound),
            Err(error) => return Ok(Ended::CannotExecute(error)),
        };
        let pid = Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?);
        let mut job = Job {
            events: &self.events,
            family: &family,
            child,
            pid,
            group: (!on_terminal).then(|| Pid::from_raw(-pid.as_raw())),
            told_to_end: None,
            asked: SigSet::empty(),
            interrupted: false,
        };
        let status = job.wait()?;
        end_leftovers(&self.events, &family)?;
        terminal::take_back();
        Ok(job.ended(status))
    }
}

/// Why legbook ends a command.
#[derive(Debug, Clone, Copy)]
enum Reason {
    Timeout,
    Cancel(Signal),
}

/// The command while it runs.
struct Job<'a> {
    events: &'a Events,
    family: &'a Family,
    child: Child,
    pid: Pid,
    /// The group that was made for it, as kill(2) takes it: a negative number. None on a terminal.
    group: Option<Pid>,
    /// The first reason for which legbook ended it.
    told_to_end: Option<Reason>,
    /// The signals by which it was asked.
    asked: SigSet,
    /// Whether the terminal sent SIGINT to the job. A command may live on with that.
    interrupted: bool,
}

impl Job<'_> {
    fn wait(&mut self) -> io::Result<ExitStatus> {
        loop {
            match self.events.next()? {
                Event::ChildChanged => {
                    if let Some(status) = self.child.try_wait()? {
                        return Ok(status);
                    }
                    self.family.reap(&self.family.list(), Some(self.pid));
                }
                Event::Signal(received) => self.pass_on(received),
                Event::Elapsed(Deadline::Timeout) => self.end(Reason::Timeout, Signal::SIGTERM),
                Event::Elapsed(Deadline::CommandGrace) => self.tell_all(Signal::SIGKILL),
                Event::Elapsed(Deadline::LeftoversGrace | Deadline::LeftoversKilled) => {}
            }
        }
    }

    fn pass_on(&mut self, Received { signal, from_terminal }: Received) {
        // The terminal signals its whole foreground group, so the command has the signal already, unless it has left.
        let is_shared = from_terminal && getpgid(Some(self.pid)) == Ok(getpgrp());
        match signal {
            Signal::SIGINT if is_shared => self.interrupted = true,
            Signal::SIGQUIT | Signal::SIGWINCH if is_shared => {}
            Signal::SIGINT | Signal::SIGTERM => self.end(Reason::Cancel(signal), signal),
            Signal::SIGHUP | Signal::SIGQUIT => self.tell_all(signal),
            other => tell(self.pid, other),
        }
    }

    /// Asks the command to end, and starts its grace. It hears the same signal only once: timeout(1) and its like send
    /// it twice, and the second would hit what the command cleans up with.
    fn end(&mut self, reason: Reason, signal: Signal) {
        if self.told_to_end.is_none() {
            self.told_to_end = Some(reason);
            self.events.after_or_now(GRACE, Deadline::CommandGrace);
        }
        if !self.asked.contains(signal) {
            self.asked.add(signal);
            self.tell_all(signal);
            // A stopped process hears it only when it goes on.
            self.tell_all(Signal::SIGCONT);
        }
    }

    /// Signals the command and the group that was made for it. It may have left that group, and hears the signal once
    /// in any case: only SIGKILL, which nothing can catch, may come twice, so that no change of group escapes it.
    fn tell_all(&self, signal: Signal) {
        if let Some(group) = self.group {
            tell(group, signal);
        }
        let heard = self.group.is_some() && getpgid(Some(self.pid)) == Ok(self.pid);
        if !heard || signal == Signal::SIGKILL {
            tell(self.pid, signal);
        }
    }

    fn ended(&self, status: ExitStatus) -> Ended {
        let ending_signal = status.signal();
        let code = status.code().or(ending_signal.map(|signal| 128 + signal)).unwrap_or_default();
        let canceled = match (self.told_to_end, ending_signal.map(Signal::try_from)) {
            (Some(Reason::Timeout), _) => return Ended::TimedOut,
            (Some(Reason::Cancel(signal)), _) => Some(signal),
            (None, Some(Ok(signal @ (Signal::SIGINT | Signal::SIGTERM)))) => Some(signal),
            // A command that catches Ctrl-C and cleans up says so with the code that a shell would give.
            (None, None) if self.interrupted && code == 128 + Signal::SIGINT as i32 => Some(Signal::SIGINT),
            (None, _) => None,
        };
        match (canceled, ending_signal) {
            (Some(signal), _) => Ended::Canceled { signal, code },
            (None, Some(number)) => Ended::Signaled(number),
            (None, None) => Ended::Exited(code),
        }
    }
}

/// Ends what the command left running: SIGTERM to each descendant, after the grace SIGKILL. Gives up only on what is
/// still there a grace later: another user's process, or one that the kernel holds in a call.
fn end_leftovers(events: &Events, family: &Family) -> io::Result<()> {
    let mut told = HashSet::new();
    let mut kill_now = false;
    loop {
        let members = family.list();
        // One that ended during the listing may have handed its children on unseen; only a list without such is whole.
        if family.reap(&members, None) {
            continue;
        }
        let living: Vec<Pid> =
            members.iter().filter(|member| member.lives()).map(|member| member.pid).collect();
        if living.is_empty() {
            return Ok(());
        }
        if told.is_empty() {
            events.after_or_now(GRACE, Deadline::LeftoversGrace);
        }
        for pid in living {
            if kill_now {
                tell(pid, Signal::SIGKILL);
            } else if told.insert(pid) {
                tell(pid, Signal::SIGTERM);
                tell(pid, Signal::SIGCONT);
            }
        }
        match events.next()? {
            Event::Elapsed(Deadline::LeftoversGrace) => {
                kill_now = true;
                events.after_or_now(GRACE, Deadline::LeftoversKilled);
            }
            Event::Elapsed(Deadline::LeftoversKilled) => return Ok(()),
            // Signals come too late for the command; a descendant's end, or nothing of this phase: look again.
            Event::ChildChanged | Event::Signal(_) | Event::Elapsed(_) => {}
        }
    }
}

/// Signals a process or a group. It may have ended meanwhile, or be another user's: then there is nothing more to do about it.
fn tell(pid: Pid, signal: Signal) {
    let _ = kill(pid, signal);
}
