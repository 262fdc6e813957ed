//! A reactor appears. Cooldown and spot are looked at, the id is drawn, value, indexes, timer and event are
//! written in one script: nobody slips in between, and nothing is seen half done.

use field::{Field, Tenant};
use kernel::{Fault, Pending, reply};

use super::{Reactors, by};
use crate::error::ReactorError;
use crate::events;
use crate::model::{Data, Reactor, rfc3339};
use crate::scripts::CREATE;

/// The reactor to make.
#[derive(Debug, Clone, Default)]
pub struct New {
    /// The field to stand in.
    pub field: Field,
    /// The kind of reactor; not 0.
    pub classification: u32,
    /// Empty: the name of its kind.
    pub name: String,
    /// The first state.
    pub state: i8,
    /// The horizontal position on the map.
    pub x: i16,
    /// The vertical position on the map.
    pub y: i16,
    /// Milliseconds during which its spot stays empty after it.
    pub delay: u32,
    /// Which way it faces.
    pub direction: u8,
    /// The behaviour; `None`: the catalogue's.
    pub data: Option<Data>,
    /// Whether a second one of its kind on the same spot is refused.
    pub guarded: bool,
}

/// The outcome of a creation.
#[derive(Debug, Clone, PartialEq)]
pub enum Created {
    /// It stands there.
    Made(Box<Reactor>),
    /// One was destroyed there not long ago.
    OnCooldown {
        /// Milliseconds left; `None` when the key there never ends, which no program of ours writes.
        remaining_ms: Option<u64>,
    },
    /// Another of its kind stands there.
    SpotTaken {
        /// The id of the other reactor.
        id: u32,
    },
}

impl Reactors {
    /// Makes a reactor.
    pub async fn create(&self, tenant: &Tenant, new: New) -> Result<Created, ReactorError> {
        self.create_for(tenant, new, None).await
    }

    /// The same as the answer to a command.
    pub async fn create_for(
        &self,
        tenant: &Tenant,
        new: New,
        command: Option<&Pending>,
    ) -> Result<Created, ReactorError> {
        let guarded = new.guarded;
        let mut reactor = self.reactor_of(tenant, new)?;
        self.ensure(tenant.id).await?;
        let (word, number) = self.make(&reactor, guarded, command).await?;
        let id = || u32::try_from(number).unwrap_or(0);
        match word.as_str() {
            "made" => {
                reactor.id = id();
                if reactor.data.timeout(reactor.state).is_some() {
                    self.wake.notify_one();
                }
                Ok(Created::Made(Box::new(reactor)))
            }
            "on_cooldown" => Ok(Created::OnCooldown { remaining_ms: u64::try_from(number).ok() }),
            "spot_taken" => Ok(Created::SpotTaken { id: id() }),
            "id_space_busy" => Err(ReactorError::IdSpaceBusy),
            _ => Err(ReactorError::Answered),
        }
    }

    /// The reactor, but for its id.
    fn reactor_of(&self, tenant: &Tenant, new: New) -> Result<Reactor, ReactorError> {
        if new.classification == 0 {
            return Err(ReactorError::ClassificationRequired);
        }
        let data = match new.data {
            Some(data) => data,
            None => self
                .templates
                .get(new.classification)
                .ok_or(ReactorError::UnknownClassification(new.classification))?
                .data(),
        };
        let Field { world_id, channel_id, map_id, instance } = new.field;
        Ok(Reactor {
            tenant: tenant.clone(),
            id: 0,
            world_id,
            channel_id,
            map_id,
            instance,
            classification: new.classification,
            name: if new.name.is_empty() { data.name.clone() } else { new.name },
            data,
            state: new.state,
            event_state: 0,
            delay: new.delay,
            direction: new.direction,
            x: new.x,
            y: new.y,
            update_time: rfc3339(self.clock.now_ms()),
        })
    }

    async fn make(
        &self,
        reactor: &Reactor,
        guarded: bool,
        command: Option<&Pending>,
    ) -> Result<(String, i64), ReactorError> {
        let (tenant, now_ms) = (reactor.tenant.id, self.clock.now_ms());
        let timers = self.keys.due(tenant);
        let keys: [String; 9] = [
            self.keys.next_id(tenant).into(),
            self.keys.all(tenant).into(),
            self.keys.map(tenant, reactor.field()).into(),
            self.keys.cooldown(reactor).into(),
            self.keys.spots(tenant).into(),
            timers.due,
            timers.data,
            self.keys.events(tenant).into(),
            self.keys.commands(tenant).into(),
        ];
        let plain = |error: serde_json::Error| Fault::Corrupt {
            key: self.keys.prefix(tenant),
            detail: format!("a new reactor is not JSON: {error}"),
        };
        let (value_head, value_tail) = reactor.halves().map_err(plain)?;
        let (event_head, event_tail) = events::created(reactor).map_err(plain)?;
        let timeout = reactor.data.timeout(reactor.state);
        let due = timeout.map(|(wait, _)| (now_ms + u64::from(wait)).to_string());
        let word = |text: Option<&String>| text.cloned().unwrap_or_default();
        let args: [String; 11] = [
            if guarded { reactor.spot() } else { String::new() },
            value_head,
            value_tail,
            event_head,
            event_tail,
            now_ms.to_string(),
            due.unwrap_or_default(),
            reactor.state.to_string(),
            word(command.map(|command| &command.group)),
            word(command.map(|command| &command.entry)),
            self.keys.prefix(tenant),
        ];
        let (keys, args) = (keys.each_ref(), args.each_ref());
        let (keys, args) = (keys.map(String::as_bytes), args.map(String::as_bytes));
        let answer = self.store.script(&CREATE, &keys, &args, by()).await?;
        let parts = reply::list(&answer).unwrap_or_default();
        match (parts.first().and_then(reply::text), parts.get(1).and_then(reply::int)) {
            (Some(word), Some(number)) => Ok((word.to_owned(), number)),
            _ => Err(reply::unexpected(keys[0], "a word and a number", &answer).into()),
        }
    }
}
