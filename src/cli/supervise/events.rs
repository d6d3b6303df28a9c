//! What a supervisor waits for, in one queue: signals, children that ended, and deadlines.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use legbook::clock::Clock;
use nix::sys::signal::{SigSet, Signal};
use procfs::process::Process;
use signal_hook::iterator::{Handle, SignalsInfo, exfiltrator::WithOrigin};
use signal_hook::low_level::siginfo::{Cause, Origin};

/// The signals that are meant for the command when they reach legbook. Those that stop and continue are left to the
/// kernel: a terminal sends them to the whole job.
const PASSED_ON: [Signal; 7] = [
    Signal::SIGHUP,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGTERM,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGWINCH,
];

/// One thing that happened.
#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    /// At least one child ended, stopped or went on.
    ChildChanged,
    /// A signal that the command should have.
    Signal(Received),
    /// A wait is over.
    Elapsed(Deadline),
}

/// A signal and where it came from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Received {
    pub(super) signal: Signal,
    /// Whether the kernel sent it, as it does for a key or a new size of the terminal.
    pub(super) from_terminal: bool,
}

/// What is waited for with a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deadline {
    /// The command's time.
    Timeout,
    /// The grace of a command that was told to end.
    CommandGrace,
    /// The grace of what the command left running.
    LeftoversGrace,
    /// The time in which a process that was killed must be gone.
    LeftoversKilled,
}

/// The queue. While it exists the signals of [`PASSED_ON`] go into it; afterwards they have no effect.
pub(super) struct Events {
    clock: Arc<dyn Clock>,
    sender: Sender<Event>,
    receiver: Receiver<Event>,
    signals: Handle,
}

impl Events {
    /// Starts to listen. A signal that legbook's parent made it ignore (as nohup does with SIGHUP) stays ignored, by
    /// the command too.
    ///
    /// # Errors
    /// The operating system's, where a handler or a thread is refused.
    pub(super) fn listen(clock: Arc<dyn Clock>) -> io::Result<Self> {
        // A parent may leave this one blocked, and without it no end of a child would be seen.
        SigSet::from(Signal::SIGCHLD).thread_unblock()?;
        let ignored = ignored_signals();
        let heard =
            PASSED_ON.into_iter().filter(|signal| !ignored.contains(*signal)).chain([Signal::SIGCHLD]);
        let mut signals = SignalsInfo::<WithOrigin>::new(heard.map(|signal| signal as i32))?;
        let handle = signals.handle();
        let (sender, receiver) = channel();
        let queue = sender.clone();
        thread::Builder::new().name("signals".to_owned()).spawn(move || {
            for event in signals.forever().filter_map(|origin| Event::from_signal(&origin)) {
                if queue.send(event).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { clock, sender, receiver, signals: handle })
    }

    /// Waits for the next event.
    ///
    /// # Errors
    /// None while `self` lives, which keeps one end of the queue.
    pub(super) fn next(&self) -> io::Result<Event> {
        self.receiver.recv().map_err(io::Error::other)
    }

    /// The signals that are in the queue now, taken out of it; what else is there goes too.
    pub(super) fn signals_so_far(&self) -> impl Iterator<Item = Signal> {
        self.receiver.try_iter().filter_map(|event| match event {
            Event::Signal(received) => Some(received.signal),
            Event::ChildChanged | Event::Elapsed(_) => None,
        })
    }

    /// Puts `deadline` into the queue when `wait` is over.
    ///
    /// # Errors
    /// The operating system's, where a thread is refused.
    pub(super) fn after(&self, wait: Duration, deadline: Deadline) -> io::Result<()> {
        let clock = Arc::clone(&self.clock);
        let queue = self.sender.clone();
        // Nobody joins this thread: it ends with its wait, or with the process.
        thread::Builder::new().name("deadline".to_owned()).spawn(move || {
            clock.sleep(wait);
            // The queue is gone when the command ended in time.
            let _ = queue.send(Event::Elapsed(deadline));
        })?;
        Ok(())
    }

    /// As [`Self::after`]; where no thread can wait, the deadline is over at once, so that nothing outlives it.
    pub(super) fn after_or_now(&self, wait: Duration, deadline: Deadline) {
        if self.after(wait, deadline).is_err() {
            let _ = self.sender.send(Event::Elapsed(deadline));
        }
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        self.signals.close();
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Events").finish_non_exhaustive()
    }
}

impl Event {
    fn from_signal(origin: &Origin) -> Option<Self> {
        match Signal::try_from(origin.signal).ok()? {
            Signal::SIGCHLD => Some(Self::ChildChanged),
            signal => {
                Some(Self::Signal(Received { signal, from_terminal: matches!(origin.cause, Cause::Kernel) }))
            }
        }
    }
}

/// The signals that this process was started to ignore; none where /proc does not tell.
fn ignored_signals() -> SigSet {
    let mask = Process::myself().and_then(|this| this.status()).map_or(0, |status| status.sigign);
    Signal::iterator().filter(|signal| mask & (1 << (*signal as u32 - 1)) != 0).collect()
}
