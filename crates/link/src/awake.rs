//! Whether to stay awake for an answer. A thread that sleeps until a reply comes must be woken for it, and on an
//! idle machine that takes longer than a nearby server needs to answer; on a busy one, or far from the server,
//! staying awake only takes the processor from those who have work. Which of the two it is shows in how long
//! lone requests take either way: both are tried, and the better one is kept until the next trial.

use std::time::Duration;

/// How long an answer is waited for awake; what takes longer is slept for.
pub(crate) const PATIENCE: Duration = Duration::from_micros(400);
/// So many lone requests from one trial to the next, and in a trial.
const PERIOD: u32 = 1024;
const TRIAL: u32 = 16;
/// What an answer took is counted up to here: one that was held up says nothing of the way of waiting.
const LONGEST: u32 = 1000;

/// What is known of both ways.
#[derive(Debug, Default)]
pub(crate) struct Awake {
    turn: u32,
    /// Microseconds that answers took of late, either way; zero before the first.
    without_sleep: u32,
    with_sleep: u32,
}

impl Awake {
    /// Whether to stay awake for the next lone request.
    pub(crate) fn choose(&mut self) -> bool {
        let turn = self.turn % PERIOD;
        self.turn = self.turn.wrapping_add(1);
        match turn / TRIAL {
            0 => false,
            1 => true,
            _ => self.pays(),
        }
    }

    /// Processor time is spent only for a clear gain.
    fn pays(&self) -> bool {
        self.without_sleep * 4 < self.with_sleep * 3
    }

    /// What an answer took, with the thread awake or asleep.
    pub(crate) fn learn(&mut self, awake: bool, took: Duration) {
        let took = u32::try_from(took.as_micros()).unwrap_or(LONGEST).clamp(1, LONGEST);
        let known = if awake { &mut self.without_sleep } else { &mut self.with_sleep };
        *known = if *known == 0 { took } else { (*known * 7 + took) / 8 };
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
            known.learn(stays, Duration::from_micros(if stays { awake } else { asleep }));
            chosen.push(stays);
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
}
