//! The wishes of each socket, and the state that waits for it. When a tick is done, everybody who is ready for a state
//! gets one chosen before the first is sent: choosing is short, sending is long.
//!
//! At most one state waits, and it is of the newest tick: somebody who does not read finds that one later.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use kernel::Clock;
use parking_lot::Mutex;
use uuid::Uuid;

use super::frame::Frame;
use super::nearest::Reach;
use super::state::State;

/// While the engine catches up, states come no more often than this.
const CATCHING_UP: Duration = Duration::from_millis(100);
/// More than these are served beside the threads that everything else runs on.
const FEW: usize = 32;
/// The number of sockets that is worth a thread.
const EACH: usize = 250;

/// The wish of a socket.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View {
    pub(crate) ship: Option<Uuid>,
    /// How many ships.
    pub(crate) ships: usize,
    /// Least time between two states.
    pub(crate) gap: Duration,
}

/// A socket, as those see it who have something for it.
pub(crate) struct Viewer(Mutex<ViewerTable>);

struct ViewerTable {
    view: View,
    reach: Reach,
    /// Of the last state that was sent: its tick, and when.
    sent: Option<(u64, Duration)>,
    /// Whether another one may be chosen for it.
    waits: bool,
    next: Option<State>,
}

/// The next thing for a socket to do about its state.
pub(crate) enum Turn {
    /// Send this.
    Send(State),
    /// Come again then.
    Later(Duration),
    /// There is nothing new.
    Wait,
}

impl Viewer {
    pub(crate) fn new(view: View) -> Self {
        let (reach, sent) = (Reach::default(), None);
        Viewer(Mutex::new(ViewerTable { view, reach, sent, waits: false, next: None }))
    }

    pub(crate) fn view(&self) -> View {
        self.0.lock().view
    }

    /// Another view: what was chosen for the old one is not sent, and the next state may come at once.
    pub(crate) fn change(&self, change: impl FnOnce(&mut View)) {
        let mut inner = self.0.lock();
        change(&mut inner.view);
        (inner.next, inner.sent) = (None, None);
    }

    /// Another ship, unless it is the one.
    pub(crate) fn fly(&self, ship: Uuid) {
        if self.view().ship != Some(ship) {
            self.change(|view| view.ship = Some(ship));
        }
    }

    /// The last state could not be sent: the next one may come at once.
    pub(crate) fn missed(&self) {
        self.0.lock().sent = None;
    }

    /// The next state, by the newest frame. From here on, until there is one, the socket counts as ready.
    pub(crate) fn turn(&self, newest: Option<&Arc<Frame>>, clock: &dyn Clock) -> Turn {
        let mut inner = self.0.lock();
        let now = clock.monotonic();
        inner.waits = true;
        if inner.next.is_none()
            && let Some(frame) = newest.filter(|frame| inner.fresh(frame))
        {
            let wait = inner.wait(frame, now);
            if !wait.is_zero() {
                return Turn::Later(wait);
            }
            inner.choose(frame, clock);
        }
        let Some(state) = inner.next.take() else { return Turn::Wait };
        inner.sent = Some((state.tick(), now));
        inner.waits = false;
        Turn::Send(state)
    }

    /// Chooses a state of a new frame, if the socket is ready for one.
    fn offer(&self, frame: &Arc<Frame>, clock: &dyn Clock) {
        let mut inner = self.0.lock();
        let ready = inner.waits && inner.fresh(frame);
        if ready && inner.wait(frame, clock.monotonic()).is_zero() {
            inner.choose(frame, clock);
        }
    }
}

impl ViewerTable {
    fn fresh(&self, frame: &Frame) -> bool {
        self.sent.is_none_or(|(tick, _)| tick != frame.seen.tick)
    }

    fn wait(&self, frame: &Frame, now: Duration) -> Duration {
        let behind = frame.seen.numbers.behind > 0;
        let gap = self.view.gap.max(if behind { CATCHING_UP } else { Duration::ZERO });
        self.sent.map_or(Duration::ZERO, |(_, at)| (at + gap).saturating_sub(now))
    }

    fn choose(&mut self, frame: &Arc<Frame>, clock: &dyn Clock) {
        self.next = Some(frame.state(self.view.ship, self.view.ships, &mut self.reach));
        // The first one, or one for another view, is of a tick that may be long over.
        if self.sent.is_some() {
            frame.queued(clock.monotonic());
        }
    }
}

/// All sockets of this server that fly.
#[derive(Default)]
pub(crate) struct Viewers(Mutex<Vec<Weak<Viewer>>>);

impl Viewers {
    /// From now on it is served, until it is dropped.
    pub(crate) fn add(&self, viewer: &Arc<Viewer>) {
        self.0.lock().push(Arc::downgrade(viewer));
    }

    /// Chooses a state for everybody who is ready.
    pub(crate) async fn serve(&self, frame: &Arc<Frame>, clock: &Arc<dyn Clock>) {
        let mut all = Vec::new();
        self.0.lock().retain(|viewer| viewer.upgrade().map(|viewer| all.push(viewer)).is_some());
        let offer = |some: &[Arc<Viewer>], frame: &Arc<Frame>, clock: &dyn Clock| {
            for viewer in some {
                viewer.offer(frame, clock);
            }
        };
        if all.len() <= FEW {
            return offer(&all, frame, &**clock);
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let parts = threads.min(all.len().div_ceil(EACH));
        let part = all.len().div_ceil(parts);
        let parts = all.chunks(part).map(|some| {
            let (some, frame, clock) = (some.to_vec(), Arc::clone(frame), Arc::clone(clock));
            tokio::task::spawn_blocking(move || offer(&some, &frame, &*clock))
        });
        // It fails only when the server ends.
        let _ = join_all(parts).await;
    }
}

#[cfg(test)]
mod tests {
    use kernel::FakeClock;

    use super::super::frame::tests::world_at;
    use super::*;

    fn viewer() -> Viewer {
        Viewer::new(View { ship: None, ships: 200, gap: Duration::ZERO })
    }

    fn tick(turn: Turn) -> Option<u64> {
        if let Turn::Send(state) = turn { Some(state.tick()) } else { None }
    }

    #[test]
    fn one_state_waits_for_who_is_ready_and_it_is_the_newest() {
        let (clock, viewer) = (FakeClock::at(0), viewer());
        let frames = [1, 2, 3, 4].map(|tick| world_at(3, tick));
        assert_eq!(
            tick(viewer.turn(Some(&frames[0]), &clock)),
            Some(1),
            "the first one comes at once"
        );
        viewer.offer(&frames[1], &clock);
        assert!(viewer.0.lock().next.is_none(), "who is still being written to gets none");
        assert_eq!(tick(viewer.turn(Some(&frames[1]), &clock)), Some(2), "but asks for it later");
        assert!(matches!(viewer.turn(Some(&frames[1]), &clock), Turn::Wait), "nothing comes twice");
        for frame in &frames[1..] {
            viewer.offer(frame, &clock);
        }
        assert_eq!(Arc::strong_count(&frames[2]), 1, "an older one is let go");
        assert_eq!(tick(viewer.turn(Some(&frames[3]), &clock)), Some(4));
        viewer.missed();
        assert_eq!(tick(viewer.turn(Some(&frames[3]), &clock)), Some(4), "it was not sent");
    }

    #[test]
    fn another_view_comes_at_once_and_a_rate_is_kept() {
        let (clock, viewer) = (FakeClock::at(0), viewer());
        let frames = [1, 2, 3].map(|tick| world_at(3, tick));
        assert_eq!(tick(viewer.turn(Some(&frames[0]), &clock)), Some(1));
        assert!(matches!(viewer.turn(Some(&frames[0]), &clock), Turn::Wait));
        viewer.offer(&frames[1], &clock);
        viewer.change(|view| (view.ships, view.gap) = (1, Duration::from_secs(1)));
        let Turn::Send(state) = viewer.turn(Some(&frames[1]), &clock) else { panic!("at once") };
        let text = state.pieces().iter().flat_map(|piece| piece.to_vec()).collect::<Vec<u8>>();
        let text = String::from_utf8_lossy(&text).into_owned();
        assert_eq!(text.matches("ship_id").count(), 1, "by the new view: {text}");
        assert_eq!(tick(viewer.turn(Some(&frames[1]), &clock)), None);
        viewer.offer(&frames[2], &clock);
        let Turn::Later(wait) = viewer.turn(Some(&frames[2]), &clock) else { panic!("too early") };
        assert_eq!(wait, Duration::from_secs(1));
        clock.advance(wait);
        assert_eq!(tick(viewer.turn(Some(&frames[2]), &clock)), Some(3));
    }

    #[tokio::test]
    async fn everybody_who_is_ready_is_served_also_when_they_are_many() {
        let clock: Arc<dyn Clock> = Arc::new(FakeClock::at(0));
        let frames = [1, 2].map(|tick| world_at(3, tick));
        for count in [1, 32, 33, 900] {
            let viewers = Viewers::default();
            let all: Vec<Arc<Viewer>> = (0..count).map(|_| Arc::new(viewer())).collect();
            for viewer in &all {
                viewers.add(viewer);
                assert_eq!(tick(viewer.turn(Some(&frames[0]), &*clock)), Some(1));
                assert!(matches!(viewer.turn(Some(&frames[0]), &*clock), Turn::Wait));
            }
            viewers.serve(&frames[1], &clock).await;
            for viewer in &all {
                assert_eq!(viewer.0.lock().next.as_ref().map(State::tick), Some(2), "{count}");
            }
            drop(all);
            viewers.serve(&frames[1], &clock).await;
            assert!(viewers.0.lock().is_empty(), "who left is forgotten");
        }
    }
}
