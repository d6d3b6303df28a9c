//! What a disk may hold after a power cut, worked out from a record of `tests/shim/record.c`.
//!
//! A file's content lasts once the file is synced; a name (of a new, renamed, linked or removed file or folder) lasts once
//! a folder that it is in is synced. That is all that POSIX promises, and less than ext4 does. What is not synced may be on the
//! disk or not: names in the order of their calls, as a journaling file system has them, and contents in any order, each
//! write perhaps torn between two sectors.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A disk writes a sector whole or not at all. In bytes.
const SECTOR: usize = 512;

/// What of that which is not synced a power cut leaves.
#[derive(Debug, Clone, Copy)]
pub(super) enum Leaves {
    Nothing,
    /// As after a `kill -9`.
    All,
    /// By chance, from this seed.
    Some(u64),
}

/// A recorded call. Files are numbered anew, because a file system uses an inode again.
#[derive(Debug)]
enum Call {
    Create { file: usize, mode: u32, path: PathBuf },
    Folder { mode: u32, path: PathBuf },
    Write { file: usize, at: usize, bytes: Vec<u8> },
    Size { file: usize, size: usize },
    Sync { file: usize },
    SyncFolder { path: PathBuf },
    Name { from: PathBuf, to: PathBuf },
    Link { file: usize, path: PathBuf },
    Remove { path: PathBuf },
    Answer,
}

#[derive(Debug, Clone)]
enum Node {
    Folder { mode: u32 },
    File { file: usize, mode: u32 },
}

/// All names and contents below a folder.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    names: BTreeMap<PathBuf, Node>,
    contents: HashMap<usize, Vec<u8>>,
}

/// A state of a folder and the calls that changed it.
pub(super) struct Record {
    before: State,
    calls: Vec<Call>,
}

/// The state of a folder before a command, with the inodes that its record will name.
pub(super) struct Start {
    state: State,
    files: HashMap<u64, usize>,
}

impl Start {
    /// Reads `folder`, which counts as synced.
    pub(super) fn read(folder: &Path) -> Self {
        let mut start = Self { state: State::default(), files: HashMap::new() };
        start.enter(folder);
        start
    }

    fn enter(&mut self, folder: &Path) {
        let mode = fs::metadata(folder).unwrap().mode() & 0o777;
        self.state.names.insert(folder.to_path_buf(), Node::Folder { mode });
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let (path, found) = (entry.path(), entry.metadata().unwrap());
            if found.is_dir() {
                self.enter(&path);
            } else {
                let file = self.files.len();
                self.files.insert(found.ino(), file);
                self.state.contents.insert(file, fs::read(&path).unwrap());
                self.state.names.insert(path, Node::File { file, mode: found.mode() & 0o777 });
            }
        }
    }

    /// The record `bytes` of what followed.
    pub(super) fn record(self, mut bytes: &[u8]) -> Record {
        let (mut files, mut count) = (self.files, self.state.contents.len());
        let mut calls = Vec::new();
        while !bytes.is_empty() {
            let line = cut(&mut bytes);
            let (word, rest) = line.split_once(' ').unwrap_or((&line, ""));
            let words: Vec<&str> = rest.splitn(3, ' ').collect();
            let number = |n: usize| words[n].parse::<u64>().unwrap();
            let known = |files: &HashMap<u64, usize>| files[&number(0)];
            calls.push(match word {
                "create" => {
                    files.insert(number(0), count);
                    count += 1;
                    Call::Create { file: count - 1, mode: number(1) as u32, path: words[2].into() }
                }
                "folder" => {
                    let (mode, path) = rest.split_once(' ').unwrap();
                    Call::Folder { mode: mode.parse().unwrap(), path: path.into() }
                }
                "write" => {
                    let (written, after) = bytes.split_at(number(2) as usize);
                    bytes = after;
                    Call::Write { file: known(&files), at: number(1) as usize, bytes: written.to_vec() }
                }
                "size" => Call::Size { file: known(&files), size: number(1) as usize },
                "sync" => Call::Sync { file: known(&files) },
                "syncfolder" => Call::SyncFolder { path: rest.into() },
                "name" => Call::Name { from: rest.into(), to: cut(&mut bytes).into() },
                "link" => {
                    let path = rest.split_once(' ').unwrap().1.into();
                    Call::Link { file: files[&rest.split_once(' ').unwrap().0.parse().unwrap()], path }
                }
                "remove" => Call::Remove { path: rest.into() },
                "answer" => Call::Answer,
                _ => panic!("an unknown call: {line}"),
            });
        }
        Record { before: self.state, calls }
    }
}

/// Takes the first line off.
fn cut(bytes: &mut &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    let line = String::from_utf8(bytes[..end].to_vec()).unwrap();
    *bytes = &bytes[end + 1..];
    line
}

impl Call {
    /// The folders whose sync makes this change of names last.
    fn folders(&self) -> Vec<&Path> {
        match self {
            Self::Create { path, .. }
            | Self::Folder { path, .. }
            | Self::Link { path, .. }
            | Self::Remove { path } => {
                vec![path.parent().unwrap()]
            }
            Self::Name { from, to } => vec![from.parent().unwrap(), to.parent().unwrap()],
            _ => Vec::new(),
        }
    }

    /// Whether `later` makes this call last.
    fn lasts_by(&self, later: &Self) -> bool {
        match (self, later) {
            (Self::Write { file, .. } | Self::Size { file, .. }, Self::Sync { file: synced }) => {
                file == synced
            }
            (_, Self::SyncFolder { path }) => self.folders().contains(&path.as_path()),
            _ => false,
        }
    }
}

/// Numbers by chance, the same for the same seed (xorshift64*).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % bound.max(1)
    }
}

impl Record {
    /// The number of calls.
    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether the command had answered when `count` calls were done.
    pub(super) fn answered(&self, count: usize) -> bool {
        self.calls[..count].iter().any(|call| matches!(call, Call::Answer))
    }

    /// The disk after `count` calls and a power cut.
    pub(super) fn after(&self, count: usize, leaves: Leaves) -> State {
        let calls = &self.calls[..count];
        let mut chance = Chance(match leaves {
            Leaves::Some(seed) => (seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ count as u64,
            _ => 1,
        });
        let names_up_to = chance.below(count + 1);
        let mut state = self.before.clone();
        for (at, call) in calls.iter().enumerate() {
            let lasts = calls[at..].iter().any(|later| call.lasts_by(later));
            let kept = lasts
                || match leaves {
                    Leaves::Nothing => false,
                    Leaves::All => true,
                    Leaves::Some(_) if call.folders().is_empty() => chance.below(2) == 0,
                    Leaves::Some(_) => at < names_up_to,
                };
            match call {
                Call::Write { file, at, bytes } if kept => {
                    let torn = !lasts && matches!(leaves, Leaves::Some(_)) && chance.below(4) == 0;
                    let sectors = bytes.len() / SECTOR;
                    let end = if torn { SECTOR * chance.below(sectors + 1) } else { bytes.len() };
                    state.write(*file, *at, &bytes[..end]);
                }
                _ if kept => state.change(call),
                // The file exists, though nothing names it yet.
                Call::Create { file, .. } => drop(state.contents.insert(*file, Vec::new())),
                _ => {}
            }
        }
        state
    }
}

impl State {
    fn write(&mut self, file: usize, at: usize, bytes: &[u8]) {
        let content = self.contents.entry(file).or_default();
        content.resize(content.len().max(at + bytes.len()), 0);
        content[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn change(&mut self, call: &Call) {
        match call {
            Call::Create { file, mode, path } => {
                self.contents.insert(*file, Vec::new());
                self.name(path, Node::File { file: *file, mode: *mode });
            }
            Call::Folder { mode, path } => self.name(path, Node::Folder { mode: *mode }),
            Call::Size { file, size } => self.contents.entry(*file).or_default().resize(*size, 0),
            Call::Link { file, path } => self.name(path, Node::File { file: *file, mode: 0o600 }),
            Call::Name { from, to } => {
                let moved = self.take(from);
                if !moved.is_empty() {
                    self.take(to);
                }
                for (path, node) in moved {
                    let below = path.strip_prefix(from).unwrap();
                    self.name(&if below.as_os_str().is_empty() { to.clone() } else { to.join(below) }, node);
                }
            }
            Call::Remove { path } => drop(self.take(path)),
            Call::Write { .. } | Call::Sync { .. } | Call::SyncFolder { .. } | Call::Answer => {}
        }
    }

    /// Names a file or folder, if the folder that it is in is there.
    fn name(&mut self, path: &Path, node: Node) {
        if self.names.contains_key(path.parent().unwrap()) {
            self.names.insert(path.to_path_buf(), node);
        }
    }

    /// Takes away a name and all that is below.
    fn take(&mut self, path: &Path) -> Vec<(PathBuf, Node)> {
        let taken: Vec<PathBuf> = self
            .names
            .range(path.to_path_buf()..)
            .map(|(name, _)| name.clone())
            .filter(|name| name.starts_with(path))
            .collect();
        taken.into_iter().map(|name| (name.clone(), self.names.remove(&name).unwrap())).collect()
    }

    /// Makes `folder` what this state says.
    pub(super) fn put(&self, folder: &Path) {
        fs::remove_dir_all(folder).unwrap();
        for (path, node) in &self.names {
            match node {
                Node::Folder { mode } => DirBuilder::new().mode(*mode).create(path).unwrap(),
                Node::File { file, mode } => {
                    fs::write(path, &self.contents[file]).unwrap();
                    fs::set_permissions(path, Permissions::from_mode(*mode)).unwrap();
                }
            }
        }
    }

    /// Each file with its content, but not the -shm files: they are written through memory, which no call shows.
    pub(super) fn files(&self) -> BTreeMap<&Path, &[u8]> {
        let file = |(path, node): (_, &Node)| match node {
            Node::File { file, .. } => Some((path, self.contents[file].as_slice())),
            Node::Folder { .. } => None,
        };
        self.names
            .iter()
            .map(|(path, node)| (path.as_path(), node))
            .filter_map(file)
            .filter(|(path, _)| !path.to_string_lossy().ends_with("-shm"))
            .collect()
    }
}
