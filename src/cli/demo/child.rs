//! A child process that works until a known point and is killed there.
//!
//! The child is forked, not started anew, so that nobody can make a shipped command stop between two steps: what stops
//! it is an observer, which only a caller of the library can hand in.

use std::io::{self, PipeWriter, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use legbook::Error;
use legbook::db::StoreOptions;
use legbook::step::{Observer, Step};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::{ForkResult, Pid, fork, pause};

/// The place in a child's work where it is killed.
#[derive(Debug, Clone)]
pub(super) struct Stop {
    arrived: Arc<PipeWriter>,
}

impl Stop {
    /// Says that the child is where it is to be killed, and waits for that.
    pub(super) fn here(&self) -> ! {
        // Where the parent has gone, the kernel kills the child.
        let _ = (&*self.arrived).write_all(b".");
        loop {
            pause();
        }
    }

    /// Store options under which the child stops when `step` is reached for the `nth` time.
    pub(super) fn at(&self, step: Step, nth: u32) -> StoreOptions {
        let observer = StopAt { stop: self.clone(), step, left: AtomicU32::new(nth) };
        StoreOptions { observer: Arc::new(observer), ..StoreOptions::default() }
    }
}

#[derive(Debug)]
struct StopAt {
    stop: Stop,
    step: Step,
    left: AtomicU32,
}

impl Observer for StopAt {
    fn reached(&self, step: Step) {
        if step == self.step && self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.stop.here();
        }
    }
}

/// Forks a child that does `work`, kills it with SIGKILL where it stops, and waits until it is gone; gives its pid.
///
/// The calling process must have one thread and no open store: the child has a copy of both.
///
/// # Errors
/// The operating system's; a child whose work failed, or ended without stopping.
pub(super) fn killed_in(work: impl FnOnce(&Stop) -> Result<(), Error>) -> io::Result<Pid> {
    let (mut arrivals, arrived) = io::pipe()?;
    let parent = nix::unistd::getpid();
    match fork_alone()? {
        ForkResult::Child => {
            drop(arrivals);
            let bound = set_pdeathsig(Signal::SIGKILL).is_ok() && nix::unistd::getppid() == parent;
            let told = if bound { work(&Stop { arrived: Arc::new(arrived) }) } else { Ok(()) };
            if let Err(error) = told {
                let _ = writeln!(io::stderr(), "error: the demo's child: {error}");
            }
            // Work that did not stop where it should: the closed pipe tells the parent.
            std::process::exit(1)
        }
        ForkResult::Parent { child } => {
            drop(arrived);
            let arrival = arrivals.read_exact(&mut [0]);
            kill(child, Signal::SIGKILL)?;
            waitpid(child, None)?;
            match arrival {
                Ok(()) => Ok(child),
                Err(_) => Err(io::Error::other("it ended before it could be killed")),
            }
        }
    }
}

#[allow(unsafe_code, reason = "fork is the one call that has no safe form")]
fn fork_alone() -> nix::Result<ForkResult> {
    // SAFETY: fork is unsafe because, where other threads run, the child has their locks and not them. The demo
    // starts no thread, and calls this before any library that might.
    unsafe { fork() }
}
