//! `worldkeep migrate FROM TO`: every key of one store into another, spelled for the other layout where asked, and compared
//! afterwards, and the galaxy's database with them. The source is only read. An interrupted copy goes on with `--resume`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use galaxy::{Database, DatabaseAddress};
use kernel::keyspace::{Classifier, Layout};
use kernel::{Kind, Store};
use serde_json::json;
use server::settings::Settings;

use super::backup::{broken, failed, put_database_aside, settings};
use crate::cli::{Global, Migrate};
use crate::copy::{self, Entry, Source};
use crate::exit::Failure;
use crate::{open, print};

/// The addresses of keys that differ, as many as are told.
const TOLD: usize = 10;

pub(super) fn run(global: &Global, flags: &Migrate) -> Result<(), Failure> {
    let told = super::wait(migrate(global, flags))?;
    if global.json {
        print::json(&told);
    } else if !global.quiet {
        print::line(format!(
            "{} keys copied, {} there already, {} compared; {} keys/s; {}; the source is as it was",
            told["copied"],
            told["kept"],
            told["compared"],
            told["keys_per_s"],
            told["database"].as_str().unwrap_or_default(),
        ));
    }
    Ok(())
}

/// A URL, or a directory.
async fn store(place: &str, absent: open::Absent) -> Result<Arc<dyn Store>, Failure> {
    let (url, dir) = if place.contains("://") {
        (Some(place), None)
    } else {
        (None, Some(PathBuf::from(place)))
    };
    Ok(open::store(url, dir, absent).await?.store)
}

async fn migrate(global: &Global, flags: &Migrate) -> Result<serde_json::Value, Failure> {
    if flags.from == flags.to {
        return Err(Failure::usage("FROM and TO are the same store"));
    }
    let from = store(&flags.from, open::Absent::Refuse).await?;
    let to = store(&flags.to, open::Absent::Make).await?;
    if !flags.resume && !copy::is_empty(&*to).await? {
        return Err(Failure::conflict(
            "the target is not empty; add --resume to go on with a copy that was interrupted, or empty it",
        ));
    }
    let settings = settings(global)?;
    let database =
        Databases { from: at(&settings, &flags.from, &*from), to: at(&settings, &flags.to, &*to) };
    database.refuse_occupied(flags.resume)?;
    let classifier = Classifier::new(&super::tables(None)?, &settings.jobs.namespaces);
    let layout = match flags.to_layout {
        Some(layout) => Some(layout.into()),
        // Plain keys of a step do not share a slot there.
        None => (to.status().kind == Kind::Cluster).then_some(Layout::Tagged),
    };
    let work = Migration { from: &*from, to: &*to, classifier, layout };
    let total = copy::count(work.from).await;
    let bar = super::keys_bar(global, total);
    let started = Instant::now();
    let (copied, kept) = work.copy(flags.resume, &bar).await?;
    let seconds = started.elapsed().as_secs_f64().max(0.001);
    bar.set_position(0);
    bar.set_message("comparing");
    let compared = work.compare(&bar).await?;
    bar.finish_and_clear();
    let database = database.copy().await?;
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let rate = ((copied + kept) as f64 / seconds) as u64;
    Ok(
        json!({ "copied": copied, "kept": kept, "compared": compared, "keys_per_s": rate, "database": database }),
    )
}

/// The address of a store's database. A directory has its own, unless all servers use one.
fn at(settings: &Settings, place: &str, store: &dyn Store) -> DatabaseAddress {
    match settings.galaxy.database_url.as_deref() {
        None if !place.contains("://") => DatabaseAddress::choose(None, Some(Path::new(place))),
        _ => server::database_place(settings, &store.status()),
    }
}

/// The galaxy's databases of the two stores.
struct Databases {
    from: DatabaseAddress,
    to: DatabaseAddress,
}

impl Databases {
    /// The files, where there is something to copy.
    fn files(&self) -> Option<(&Path, &Path)> {
        match (&self.from, &self.to) {
            (DatabaseAddress::File(from), DatabaseAddress::File(to))
                if from.is_file() && from != to =>
            {
                Some((from, to))
            }
            _ => None,
        }
    }

    /// Before anything is copied: a database that is in the way stays.
    fn refuse_occupied(&self, resume: bool) -> Result<(), Failure> {
        match self.files() {
            Some((_, to)) if to.exists() && !resume => Err(Failure::conflict(format!(
                "there is a database in {}; move it away, or add --resume to put it aside",
                to.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Copies the file as it is at one moment; what was in its place is kept beside it. Gives a sentence about it.
    async fn copy(&self) -> Result<String, Failure> {
        let Some((from, to)) = self.files() else { return Ok(self.nothing_to_copy()) };
        let cannot = |error: io::Error| failed("cannot write", to, &error);
        let dir = to.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(dir).map_err(cannot)?;
        let made = to.with_extension("migrating");
        if made.exists() {
            fs::remove_file(&made).map_err(cannot)?;
        }
        let database = Database::open(self.from.clone()).await.map_err(broken)?;
        let copied = database.copy_to(&made).await;
        database.close().await;
        copied.map_err(broken)?;
        File::open(&made).and_then(|file| file.sync_all()).map_err(cannot)?;
        if same(&made, to) {
            fs::remove_file(&made).map_err(cannot)?;
            return Ok(format!("the database {} was there already", to.display()));
        }
        put_database_aside(to).map_err(cannot)?;
        fs::rename(&made, to).map_err(cannot)?;
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(cannot)?;
        Ok(format!("the database {} copied to {}", from.display(), to.display()))
    }

    fn nothing_to_copy(&self) -> String {
        let (from, to) = (&self.from, &self.to);
        match (from, to) {
            _ if from == to => format!("the database {from} serves both"),
            (DatabaseAddress::File(file), _) if !file.is_file() => {
                "the galaxy has no database there".into()
            }
            (DatabaseAddress::Memory, _) => "the galaxy has no database there".into(),
            _ => format!("the database {from} is not copied to {to}: use pg_dump and pg_restore"),
        }
    }
}

/// Whether two files hold the same bytes.
fn same(one: &Path, other: &Path) -> bool {
    matches!((fs::read(one), fs::read(other)), (Ok(one), Ok(other)) if one == other)
}

struct Migration<'a> {
    from: &'a dyn Store,
    to: &'a dyn Store,
    classifier: Classifier,
    /// The spelling of keys in the target; as in the source where there is none.
    layout: Option<Layout>,
}

impl Migration<'_> {
    fn spelled(&self, entries: &[Entry]) -> Result<Vec<Vec<u8>>, Failure> {
        let spell = |entry: &Entry| match self.layout {
            Some(layout) => copy::respell(&self.classifier, layout, &entry.key),
            None => Ok(entry.key.clone()),
        };
        entries.iter().map(spell).collect()
    }

    /// Copies everything; the next keys are read while the last are written. Gives how many were copied, and how many the
    /// target had already.
    async fn copy(
        &self,
        resume: bool,
        bar: &indicatif::ProgressBar,
    ) -> Result<(u64, u64), Failure> {
        let mut source = Source::open(self.from).await?;
        let (mut copied, mut kept) = (0, 0);
        let mut next = source.next().await?;
        while let Some(mut entries) = next {
            let spelled = self.spelled(&entries)?;
            if resume {
                let wanted = copy::differing(self.to, self.from, &entries, &spelled).await?;
                kept += (entries.len() - wanted.len()) as u64;
                entries = wanted
                    .iter()
                    .map(|at| Entry { key: spelled[*at].clone(), ..entries[*at].clone() })
                    .collect();
            } else {
                for (entry, key) in entries.iter_mut().zip(spelled) {
                    entry.key = key;
                }
            }
            let (written, read) = tokio::join!(copy::write(self.to, &entries), source.next());
            written?;
            copied += entries.len() as u64;
            next = read?;
            bar.set_position(copied + kept);
        }
        Ok((copied, kept))
    }

    /// Compares every key of the source with its copy.
    async fn compare(&self, bar: &indicatif::ProgressBar) -> Result<u64, Failure> {
        let mut source = Source::open(self.from).await?;
        let (mut compared, mut wrong, mut told) = (0, 0, Vec::new());
        while let Some(entries) = source.next().await? {
            let spelled = self.spelled(&entries)?;
            let differing = copy::differing(self.to, self.from, &entries, &spelled).await?;
            for at in &differing {
                if told.len() < TOLD {
                    told.push(String::from_utf8_lossy(&entries[*at].key).into_owned());
                }
            }
            wrong += differing.len();
            compared += entries.len() as u64;
            bar.set_position(compared);
        }
        if wrong == 0 {
            return Ok(compared);
        }
        Err(Failure::failed(format!(
            "{wrong} keys differ between source and target, such as {}; if the source was written to meanwhile, stop its \
             servers and run again with --resume",
            told.join(", ")
        )))
    }
}
