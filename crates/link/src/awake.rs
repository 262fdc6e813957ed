//! Whether to stay awake for an answer. A thread that sleeps until a reply comes must be woken for it, and on an
//! idle machine that takes longer than a nearby server needs to answer; on a busy one, or far from the server,
//! staying awake only takes the processor from those who have work. Which of the two it is shows in how long
//! lone requests take either way: both are tried, and the better one is kept until the next trial.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use rustix::io::Errno;
use rustix::net::RecvFlags;

/// How long an answer is waited for awake; what takes longer is slept for.
pub(crate) const PATIENCE: Duration = Duration::from_micros(400);
/// How long other tasks of the thread wait at most.
const GLANCE: Duration = Duration::from_micros(50);
/// So many lone requests from one trial to the next, in a trial of either way, and at its start: processors that
/// change between sleep and work take some requests to find their new pace.
const PERIOD: u32 = 4096;
const TRIAL: u32 = 64;
const CHANGE: u32 = 16;
/// What was known before counts like so many answers: a trial moves it, a whole period almost replaces it.
const OLD: u32 = 128;
/// So many requests are slept for after two answers in a row that came too late: for the server they are real work.
const REST: u32 = 64;
/// What an answer took is counted up to here: one that was held up says nothing of the way of waiting.
const LONGEST: u32 = 1000;

/// What is known of both ways.
#[derive(Debug, Default)]
pub(crate) struct Awake {
    turn: u32,
    stays: bool,
    /// Answers in a row that were waited for in vain.
    late: u32,
    rest: u32,
    without_sleep: Known,
    with_sleep: Known,
}

impl Awake {
    /// Whether to stay awake for the next lone request; none while that is out of the question.
    pub(crate) fn choose(&mut self) -> Option<bool> {
        const SECOND: u32 = TRIAL;
        const DECIDED: u32 = 2 * TRIAL;
        if self.rest > 0 {
            self.rest -= 1;
            return None;
        }
        self.turn = (self.turn + 1) % PERIOD;
        match self.turn {
            0 => self.stays = false,
            SECOND => self.stays = true,
            DECIDED => self.stays = self.pays(),
            _ => {}
        }
        Some(self.stays)
    }

    /// Processor time is spent only for a clear gain. Looked at once in a period: a way that was left in its worst
    /// moment would be remembered by it.
    fn pays(&mut self) -> bool {
        let (awake, asleep) = (self.without_sleep.settle(), self.with_sleep.settle());
        awake > 0 && awake * 8 < asleep * 7
    }

    /// What an answer took, with the thread awake or asleep.
    pub(crate) fn learn(&mut self, awake: bool, took: Duration) {
        if awake {
            self.late = if took < PATIENCE { 0 } else { self.late + 1 };
            if self.late == 2 {
                (self.late, self.rest) = (0, REST);
            }
        }
        // Both trials and what was decided begin with a change.
        if self.turn < 3 * TRIAL && self.turn % TRIAL < CHANGE {
            return;
        }
        let known = if awake { &mut self.without_sleep } else { &mut self.with_sleep };
        known.sum += u32::try_from(took.as_micros()).unwrap_or(LONGEST).clamp(1, LONGEST);
        known.count += 1;
    }
}

/// How long answers take one way.
#[derive(Debug, Default)]
struct Known {
    /// Microseconds on average when it was last looked at; zero before.
    before: u32,
    /// What came since.
    sum: u32,
    count: u32,
}

impl Known {
    fn settle(&mut self) -> u32 {
        let old = if self.before == 0 { 0 } else { OLD };
        let Known { before, sum, count } = std::mem::take(self);
        self.before = (before * old + sum).checked_div(old + count).unwrap_or(0);
        self.before
    }
}

/// Looks for bytes for a moment, without a turn of the runtime: each of those wakes another of its threads, perhaps
/// on the very processor that the server needs. None came, so many (zero at the end of the stream), or a fault.
pub(crate) fn look(socket: &OwnedFd, bytes: &mut BytesMut) -> Option<std::io::Result<usize>> {
    let mut part = [0; 4096];
    let until = Instant::now() + GLANCE;
    loop {
        match rustix::net::recv(socket, &mut part, RecvFlags::DONTWAIT) {
            Ok((count, _)) => {
                bytes.extend_from_slice(&part[..count]);
                return Some(Ok(count));
            }
            Err(Errno::AGAIN | Errno::INTR) if Instant::now() >= until => return None,
            // The server may have been woken on this very processor: then it answers only if it is let run.
            Err(Errno::AGAIN | Errno::INTR) => std::thread::yield_now(),
            Err(error) => return Some(Err(error.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of the last 1 000 of many requests were awaited awake.
    fn awake_of(asleep: u64, awake: u64, known: &mut Awake) -> usize {
        let mut chosen = Vec::new();
        for _ in 0..5 * PERIOD {
            let stays = known.choose();
            if let Some(stays) = stays {
                known.learn(stays, Duration::from_micros(if stays { awake } else { asleep }));
            }
            chosen.push(stays == Some(true));
        }
        chosen.iter().rev().take(1_000).filter(|stays| **stays).count()
    }

    #[test]
    fn it_stays_awake_where_that_is_clearly_quicker() {
        assert!(awake_of(200, 80, &mut Awake::default()) > 950);
        assert!(awake_of(44, 130, &mut Awake::default()) < 50, "a busy machine");
        assert!(awake_of(600, 560, &mut Awake::default()) < 50, "a server far away");
    }

    #[test]
    fn it_follows_when_things_change() {
        let known = &mut Awake::default();
        assert!(awake_of(200, 80, known) > 950);
        assert!(awake_of(44, 130, known) < 50);
        assert!(awake_of(200, 80, known) > 950);
    }

    #[test]
    fn what_was_never_seen_does_not_pay() {
        let known = &mut Awake::default();
        let awake = (0..3 * PERIOD).filter(|_| {
            let stays = known.choose() == Some(true);
            // Others joined whatever was waited for awake.
            if !stays {
                known.learn(false, Duration::from_micros(200));
            }
            stays
        });
        assert!(awake.count() <= 3 * TRIAL as usize);
    }

    #[test]
    fn it_sleeps_while_answers_take_long_and_comes_back_at_once() {
        let known = &mut Awake::default();
        assert!(awake_of(200, 80, known) > 950);
        let slow = (0..990).filter(|_| {
            let stays = known.choose();
            if let Some(stays) = stays {
                known.learn(stays, Duration::from_millis(2));
            }
            stays == Some(true)
        });
        assert!(slow.count() <= 32, "two of sixty-six");
        assert!(awake_of(200, 80, known) > 950);
    }

    #[test]
    fn a_look_finds_bytes_the_end_or_nothing() {
        use std::io::Write as _;
        let (mut there, here) = std::os::unix::net::UnixStream::pair().expect("a pair of sockets");
        let (here, mut bytes) = (OwnedFd::from(here), BytesMut::new());
        let mut look = || look(&here, &mut bytes).map(|read| read.expect("it is open"));
        assert_eq!(look(), None);
        there.write_all(b"+OK\r\n").expect("there is room");
        assert_eq!(look(), Some(5));
        there.write_all(&[b'x'; 5000]).expect("there is room");
        assert_eq!((look(), look(), look()), (Some(4096), Some(904), None));
        drop(there);
        assert_eq!(look(), Some(0));
        assert!(bytes.starts_with(b"+OK\r\nxxx") && bytes.len() == 5005);
    }
}
