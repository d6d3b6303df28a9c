//! The controlling terminal: whether there is one, and its foreground after the command.

use std::fs::File;

use nix::errno::Errno;
use nix::sys::signal::{SigSet, SigmaskHow, Signal, killpg};
use nix::unistd::{getpgrp, tcgetpgrp, tcsetpgrp};

/// Whether this process has a controlling terminal, wherever its standard streams lead.
pub(super) fn is_there() -> bool {
    open().is_some()
}

fn open() -> Option<File> {
    File::options().read(true).write(true).open("/dev/tty").ok()
}

/// Takes the foreground back where a command that is gone has kept it, as an interactive shell does that is killed.
///
/// Without a terminal, or where a living group has the foreground (legbook's own, or that of a shell which put
/// legbook into the background meanwhile), nothing happens. A refusal is no failure of the command.
pub(super) fn take_back() {
    let Some(terminal) = open() else {
        return;
    };
    let Ok(holder) = tcgetpgrp(&terminal) else {
        return;
    };
    // 0 would be a group outside of this pid namespace, and names the caller's own group to killpg.
    if holder.as_raw() <= 0 || killpg(holder, None) != Err(Errno::ESRCH) {
        return;
    }
    // A background process that sets the foreground is stopped by SIGTTOU, unless it blocks that.
    if let Ok(mask) = SigSet::from(Signal::SIGTTOU).thread_swap_mask(SigmaskHow::SIG_BLOCK) {
        let _ = tcsetpgrp(&terminal, getpgrp());
        let _ = mask.thread_set_mask();
    }
}
