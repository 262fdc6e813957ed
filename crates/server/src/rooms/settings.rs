//! Settings of the rooms.

use crate::settings::settings;

settings! {
    /// Settings of the rooms.
    pub struct RoomsSettings, names, "rooms." {
        public_url: Option<String> = "",
            "where phones reach this server, such as https://party.example; empty means the address the Master uses";
        party: Option<String> = "",
            "address of the party's own listener, which serves the game alone; `auto` chooses one of the local network, empty is off";
        senders: usize = "64", "senders of a room at most";
        rounds: usize = "200", "rounds of a room at most";
        items_per_round: usize = "64", "items of a round at most";
        items: usize = "2000", "items of a room at most";
        players: usize = "64", "players of a room at most, those added by hand included";
        url_chars: usize = "2048", "characters of a reel's address at most";
        avatar_chars: usize = "200000", "characters of a photo as data URL at most";
        body_bytes: usize = "4194304", "largest body that makes a room";
        frame_bytes: usize = "1048576", "largest message from a phone or a Master";
        sockets_per_room: usize = "256", "sockets of a room on one server; 0 is no limit";
        queue_messages: usize = "256", "messages that may wait for a slow phone";
        queue_bytes: usize = "8388608", "bytes that may wait for a slow phone";
        messages_per_second: usize = "20", "messages of a socket, with a burst of twice that; 0 is no limit";
        avatars_per_minute: usize = "6", "photos of a device; 0 is no limit";
        renames_per_minute: usize = "20", "new names of a device; 0 is no limit";
        created_per_hour: usize = "30", "rooms made from one address; 0 is no limit";
        unknown_codes_per_minute: usize = "30", "codes of no room from one address; 0 is no limit";
        wrong_keys_per_socket: u64 = "5", "wrong master keys on a socket before it is closed; 0 is no limit";
        sockets_per_minute: usize = "60", "new sockets from one address; 0 is no limit";
        sockets_per_address: usize = "256", "open sockets of one address, where a whole party may sit; 0 is no limit";
    }
}
