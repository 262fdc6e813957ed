//! Commands on their way to the append-only log: the effective commands of one top-level call,
//! gathered as RESP bytes and closed as one unit, in `MULTI`/`EXEC` when there are two or more.

use crate::core::Core;

/// Commands not yet handed to the log.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    /// Somebody takes what is gathered; otherwise nothing is.
    pub(crate) on: bool,
    bytes: Vec<u8>,
    count: usize,
    /// The database the log's reader has selected.
    selected: Option<usize>,
    /// The running command logs itself (or must not be logged at all).
    replaced: bool,
    /// Whole units, ready to be written.
    pub(crate) ready: Vec<u8>,
    /// The database the log's reader has selected where `ready` begins.
    ready_from: Option<usize>,
}

impl Pending {
    /// A new file starts in no database.
    pub(crate) fn forget_selected(&mut self) {
        self.selected = None;
        self.ready_from = None;
    }

    /// Forgets the units that were ready: they are written.
    pub(crate) fn written(&mut self) {
        self.ready.clear();
        if self.ready.capacity() > 1 << 20 {
            self.ready = Vec::new();
        }
        self.ready_from = self.selected;
    }

    /// Takes what is ready in a form that does not depend on what the file before it selected.
    pub(crate) fn take_ready(&mut self) -> Vec<u8> {
        let mut whole = Vec::new();
        if let Some(db) = self.ready_from {
            encode(&mut whole, &[b"SELECT", itoa::Buffer::new().format(db).as_bytes()]);
        }
        whole.append(&mut self.ready);
        self.ready_from = self.selected;
        whole
    }
}

/// Appends one command in the form of the log.
pub(crate) fn encode(buf: &mut Vec<u8>, argv: &[&[u8]]) {
    let mut digits = itoa::Buffer::new();
    buf.push(b'*');
    buf.extend_from_slice(digits.format(argv.len()).as_bytes());
    buf.extend_from_slice(b"\r\n");
    for arg in argv {
        buf.push(b'$');
        buf.extend_from_slice(digits.format(arg.len()).as_bytes());
        buf.extend_from_slice(b"\r\n");
        buf.extend_from_slice(arg);
        buf.extend_from_slice(b"\r\n");
    }
}

impl Core {
    /// Logs this command for the current database.
    pub(crate) fn pending_push(&mut self, argv: &[&[u8]]) {
        self.pending_push_db(self.db, argv);
    }

    /// Logs this command for a database.
    pub(crate) fn pending_push_db(&mut self, db: usize, argv: &[&[u8]]) {
        let pending = &mut self.pending;
        if !pending.on || self.loading {
            return;
        }
        if pending.selected != Some(db) {
            let mut digits = itoa::Buffer::new();
            encode(&mut pending.bytes, &[b"SELECT", digits.format(db).as_bytes()]);
            pending.selected = Some(db);
        }
        encode(&mut pending.bytes, argv);
        pending.count += 1;
    }

    /// The running command is logged as these instead of as it came. None: it is not logged.
    pub(crate) fn log_as(&mut self, commands: &[&[&[u8]]]) {
        self.pending.replaced = true;
        for argv in commands {
            self.pending_push(argv);
        }
    }

    /// Logs a command that changed something, unless it logged itself.
    pub(crate) fn log_call(&mut self, dirty_before: u64, argv: &[&[u8]]) {
        let replaced = std::mem::take(&mut self.pending.replaced);
        if self.dirty != dirty_before && !replaced {
            self.pending_push(argv);
        }
    }

    /// Closes the unit of a top-level call.
    pub(crate) fn close_unit(&mut self) {
        let pending = &mut self.pending;
        match pending.count {
            0 => {}
            1 => pending.ready.append(&mut pending.bytes),
            _ => {
                encode(&mut pending.ready, &[b"MULTI"]);
                pending.ready.append(&mut pending.bytes);
                encode(&mut pending.ready, &[b"EXEC"]);
            }
        }
        pending.count = 0;
    }
}
