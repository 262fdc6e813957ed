//! How often in the rooms: photos and names of a device, rooms, codes and sockets of an address. Each server counts for
//! itself but for guessed codes, which all servers count together in the store. A setting of 0 switches a limit off.

use std::net::IpAddr;
use std::time::Duration;

use rooms::{Refused, Rooms, Word};
use serde_json::json;

use crate::limits::{Counts, Quota, RateLimiter};
use crate::rooms::settings::RoomsSettings;

/// All keyed rates and counts of one server.
pub(super) struct Rates {
    pub(super) avatars: RateLimiter<String>,
    pub(super) renames: RateLimiter<String>,
    pub(super) created: RateLimiter<IpAddr>,
    pub(super) unknown_codes: RateLimiter<IpAddr>,
    pub(super) sockets: RateLimiter<IpAddr>,
    pub(super) open_sockets: Counts<IpAddr>,
}

impl Rates {
    pub(super) fn new(settings: &RoomsSettings) -> Self {
        let minute = Duration::from_mins(1);
        Rates {
            avatars: RateLimiter::new(Quota::window(settings.avatars_per_minute, minute)),
            renames: RateLimiter::new(Quota::window(settings.renames_per_minute, minute)),
            created: RateLimiter::new(Quota::window(settings.created_per_hour, minute * 60)),
            unknown_codes: RateLimiter::new(Quota::window(
                settings.unknown_codes_per_minute,
                minute,
            )),
            sockets: RateLimiter::new(Quota::window(settings.sockets_per_minute, minute)),
            open_sockets: Counts::new(settings.sockets_per_address),
        }
    }

    /// An address asked for a code of no room. All servers count together, so many of them are no way round the limit;
    /// one hears of the others' count with the next guess that fails here.
    pub(super) async fn guessed(
        &self,
        rooms: &Rooms,
        address: IpAddr,
        now: Duration,
    ) -> Result<(), Duration> {
        let taken = self.unknown_codes.take(address, now);
        if self.unknown_codes.is_on()
            && let Ok((count, left_ms)) = rooms.guessed(&address.to_string()).await
        {
            let used = usize::try_from(count).unwrap_or(usize::MAX);
            self.unknown_codes.learn(address, now, used, Duration::from_millis(left_ms));
        }
        taken
    }
}

/// A refusal that says when to come back.
pub(super) fn too_fast(word: Word, wait: Duration) -> Refused {
    metrics::counter!("worldkeep_rooms_rate_limited_total", "what" => word.word).increment(1);
    let wait = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX).max(1);
    Refused::with(word, json!({ "retry_after_ms": wait }))
}
