//! The one way a room changes: a rule decides on the room as it is, and the kernel's writer applies what it
//! decided. The changes of a room queue per code; each batch begins with one look for all of them. Rules are
//! pure, because they may run several times.

use std::sync::Arc;

use kernel::keyspace::Key;
use kernel::{Clock, Deadline, Fault, Op, Source, Step, Store, Written};

use super::{Caller, Decision, Desk, PATIENCE, Proof, Rooms};
use crate::error::Result;
use crate::events::Fact;
use crate::keys::Keys;
use crate::scripts::LOOK;
use crate::seen::{Parts, Room, RoomTexts};

/// A caller whose words a rule keeps.
struct OwnCaller {
    device: Option<String>,
    key: Option<String>,
    /// The proof beside a key.
    proof: Proof<'static>,
    expires_at: Option<u64>,
}

impl OwnCaller {
    fn of(caller: &Caller<'_>) -> Self {
        let (key, proof) = match caller.proof {
            Proof::Key(key) => (Some(key.to_owned()), Proof::None),
            Proof::None => (None, Proof::None),
            Proof::Proved => (None, Proof::Proved),
            Proof::Operator => (None, Proof::Operator),
        };
        let device = caller.device.map(str::to_owned);
        OwnCaller { device, key, proof, expires_at: caller.expires_at }
    }

    fn lend(&self) -> Caller<'_> {
        let proof = self.key.as_deref().map_or(self.proof, Proof::Key);
        Caller { device: self.device.as_deref(), proof, expires_at: self.expires_at }
    }
}

/// The answer to a change, and the fact that is told after it where it cannot be part of it.
type Told<T> = Result<(T, Option<Fact>)>;

/// The source of the writer's state: what one script call brings of a room.
#[derive(Clone)]
pub(super) struct Look {
    pub(super) keys: Keys,
    pub(super) clock: Arc<dyn Clock>,
}

impl Source for Look {
    /// `None`: there is no such room.
    type State = Option<RoomTexts>;
    type Need = Parts;

    async fn look(
        &self,
        store: &dyn Store,
        code: &[u8],
        needs: &[Parts],
        by: Deadline,
    ) -> std::result::Result<Option<RoomTexts>, Fault> {
        let (keys, code) = (self.keys, String::from_utf8_lossy(code));
        let built = [
            keys.meta(&code),
            keys.senders(&code),
            keys.players(&code),
            keys.claims(&code),
            keys.scores(&code),
            keys.game(&code),
            keys.vote_deadline(&code),
            keys.online(&code),
            keys.last(&code),
            keys.rules(&code),
            keys.next(&code),
        ];
        // An id that cannot be part of a key names no room.
        let Ok(built) = built.into_iter().collect::<std::result::Result<Vec<Key>, _>>() else {
            return Ok(None);
        };
        let meta = built[0].as_str();
        let prefix = meta.strip_suffix("meta").unwrap_or(meta).as_bytes();
        let names: Vec<&[u8]> = built.iter().map(Key::as_bytes).collect();
        let (now, parts) = (self.clock.now_ms().to_string(), Parts::all(needs));
        let args = [parts.as_bytes(), now.as_bytes(), prefix];
        RoomTexts::of(&store.script(&LOOK, &names, &args, by).await?)
    }

    /// A change in a lobby, where many phones change one room at once. The course of a game has one Master.
    fn foresee(
        &self,
        code: &[u8],
        seen: &Option<RoomTexts>,
        step: &Step,
    ) -> Option<Option<RoomTexts>> {
        let (keys, code, mut seen) = (self.keys, std::str::from_utf8(code).ok()?, seen.clone()?);
        for op in step.writes().filter(|op| !matches!(op.name(), "LIFE" | "PUBLISH" | "XADD")) {
            let writes = |key: std::result::Result<Key, _>| match key {
                Ok::<Key, kernel::keyspace::BadId>(key) => op.key() == Some(key.as_bytes()),
                Err(_) => false,
            };
            if writes(keys.players(code)) {
                splice(seen.players.as_mut()?, op)?;
            } else if writes(keys.senders(code)) {
                splice(seen.senders.as_mut()?, op)?;
            } else if writes(keys.claims(code)) {
                set_field(&mut seen.claims, op)?;
            } else if writes(keys.scores(code)) {
                set_field(&mut seen.scores, op)?;
            } else {
                return None;
            }
        }
        Some(Some(seen))
    }
}

fn splice(text: &mut String, op: &Op) -> Option<()> {
    let ("SPLICE", [from, to, new]) = (op.name(), op.args()) else { return None };
    let number = |arg: &[u8]| std::str::from_utf8(arg).ok()?.parse::<usize>().ok();
    text.replace_range(number(from)?..number(to)?, std::str::from_utf8(new).ok()?);
    Some(())
}

fn set_field(fields: &mut Vec<(String, String)>, op: &Op) -> Option<()> {
    let owned = |arg: &[u8]| String::from_utf8_lossy(arg).into_owned();
    let name = owned(op.args().first()?);
    fields.retain(|(known, _)| *known != name);
    match (op.name(), op.args()) {
        ("HSET", [_, value]) => fields.push((name, owned(value))),
        ("HDEL", [_]) => {}
        _ => return None,
    }
    Some(())
}

impl Rooms {
    /// Changes a room by a rule, or says why not.
    pub(super) async fn change<T, R>(
        &self,
        code: &str,
        parts: Parts,
        caller: &Caller<'_>,
        mut rule: R,
    ) -> Result<T>
    where
        T: Send + 'static,
        R: FnMut(&Desk<'_>) -> Result<Decision<T>> + Send + 'static,
    {
        let (rooms, name, caller) = (self.clone(), code.to_owned(), OwnCaller::of(caller));
        let decide = move |seen: &Option<RoomTexts>| {
            rooms
                .decide(&name, seen.as_ref(), parts, &caller.lend(), &mut rule)
                .unwrap_or_else(|error| kernel::Decision::Leave(Err(error)))
        };
        let by = Deadline::after(PATIENCE);
        match self.writer.change(code, parts, by, decide).await? {
            Written::Answer(answer) => {
                let (told, fact) = answer?;
                if let Some(fact) = fact {
                    self.append(fact);
                }
                Ok(told)
            }
            Written::Guarded(_) => unreachable!("every guard of a room compares what was seen"),
        }
    }
    fn decide<T: 'static>(
        &self,
        code: &str,
        seen: Option<&RoomTexts>,
        parts: Parts,
        caller: &Caller<'_>,
        rule: &mut impl FnMut(&Desk<'_>) -> Result<Decision<T>>,
    ) -> Result<kernel::Decision<Told<T>>> {
        let seen = seen.ok_or_else(|| self.gone(caller))?;
        let now_ms = self.clock.now_ms();
        let room = Room::read(self.keys, code, seen, parts, now_ms)?;
        let desk = Desk { rooms: self, code, room: &room, caller, now_ms };
        Ok(match rule(&desk)? {
            Decision::Answer(told) => kernel::Decision::Leave(Ok((told, None))),
            Decision::Step(step, told) => {
                let (step, fact) = step.finish(&self.bus(code)?, self.events_in_step().as_ref());
                kernel::Decision::Write(step, Ok((told, fact)))
            }
            Decision::Call(call) => {
                kernel::Decision::Call(call).map(|told| told.map(|told| (told, None)))
            }
        })
    }

    /// Reads what is asked for, all of one moment.
    pub(super) async fn look(
        &self,
        code: &str,
        parts: Parts,
        caller: &Caller<'_>,
    ) -> Result<RoomTexts> {
        let look = Look { keys: self.keys, clock: Arc::clone(&self.clock) };
        let by = Deadline::after(PATIENCE);
        let seen = look.look(&*self.store, code.as_bytes(), &[parts], by).await;
        // Nothing was written, so a lost answer leaves no doubt.
        let seen = seen.map_err(|fault| match fault {
            Fault::Unknown(why) => Fault::Unavailable(why),
            other => other,
        })?;
        seen.ok_or_else(|| self.gone(caller).into())
    }
}
