//! Puts files into the directory in all the ways in which files are put.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// The way in which a file takes the place of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// A new file is renamed over it.
    Rename,
    /// The file itself is overwritten, in two pieces.
    InPlace,
    /// The `..data` link of a mounted `ConfigMap` is swapped.
    Swap,
}

/// A directory with one policy.
pub struct Desk {
    directory: PathBuf,
    file: String,
    swaps: u32,
}

// === impl Way ===

impl Way {
    /// All ways.
    pub const ALL: [Self; 3] = [Self::Rename, Self::InPlace, Self::Swap];
}

// === impl Desk ===

impl Desk {
    /// The policy `name` in this directory.
    pub fn new(directory: &Path, name: &str) -> Self {
        Self { directory: directory.to_owned(), file: format!("{name}.wasm"), swaps: 0 }
    }

    /// Puts the bytes in the place of the policy's module.
    pub fn put(&mut self, bytes: &[u8], way: Way) -> io::Result<()> {
        match way {
            Way::Rename => self.rename(bytes),
            Way::InPlace => self.rewrite(bytes),
            Way::Swap => self.swap(bytes),
        }
    }

    fn rename(&self, bytes: &[u8]) -> io::Result<()> {
        let beside = self.directory.join(".beside");
        fs::write(&beside, bytes)?;
        fs::rename(beside, self.target())
    }

    fn rewrite(&self, bytes: &[u8]) -> io::Result<()> {
        // Writing through a link would change a file that lies elsewhere.
        if self.target().is_symlink() {
            fs::remove_file(self.target())?;
        }
        let mut file = fs::File::create(self.target())?;
        let (head, tail) = bytes.split_at(bytes.len() / 2);
        io::Write::write_all(&mut file, head)?;
        file.sync_data()?;
        io::Write::write_all(&mut file, tail)
    }

    fn swap(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.swaps += 1;
        let version = format!("..version-{}", self.swaps);
        fs::create_dir(self.directory.join(&version))?;
        fs::write(self.directory.join(&version).join(&self.file), bytes)?;
        let data = self.directory.join("..data");
        let old = fs::read_link(&data).ok();
        self.link(Path::new(&version), &data)?;
        if !self.target().is_symlink() {
            self.link(&Path::new("..data").join(&self.file), &self.target())?;
        }
        old.map_or(Ok(()), |old| fs::remove_dir_all(self.directory.join(old)))
    }

    fn link(&self, to: &Path, at: &Path) -> io::Result<()> {
        let beside = self.directory.join("..beside");
        std::os::unix::fs::symlink(to, &beside)?;
        fs::rename(beside, at)
    }

    fn target(&self) -> PathBuf {
        self.directory.join(&self.file)
    }
}
