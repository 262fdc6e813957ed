// Made from docs/openapi.json by tests/browser/apitypes.mjs: `make pages-fix` writes it anew. Not served.

declare namespace Api {
  /** An object of which the document says no more. */
  type Free = Record<string, any>;
  /** An answer of which the document says nothing. */
  type Unsaid = any;

  /** The action. */
  type Action = "cancel" | "retry" | "runNow" | "bury" | "remove" | "any";

  /** The game, and how its engine is doing; numbers of an engine elsewhere are `null`. */
  type AdminStatus = GameStatus & {
    actual_rate?: number | null;
    backlog_dropped?: number | null;
    /** Seconds until game time is UTC, while time sync works on it. */
    converges_in_s?: number | null;
    effective_scale: number;
    /** Of the bodies, relative, against the start. */
    energy_drift?: number | null;
    failed_writes?: number | null;
    /** Whether this server's engine ticks the world. */
    leader: boolean;
    /** Of the bodies, relative. */
    momentum_drift?: number | null;
    not_finite?: number | null;
    orders_dropped?: number | null;
    /** The snapshot that is being put back, if one is. */
    restoring?: string | null;
    ships: number;
    /** Snapshots that failed in a row; from three on it is an alarm. */
    snapshots_failed?: number | null;
    stations: number;
    /** Milliseconds of the last tick with its write. */
    tick_ms?: number | null;
    ticks_behind?: number | null;
  };

  /** The answer to one item: `data` or `errors`. */
  type Answered_MonsterAttributes = {
    data?: Resource_MonsterAttributes | null;
    /** Why there is none, as in the answer of a refused call. */
    errors?: Array<Free> | null;
  };

  /** The answer to one item: `data` or `errors`. */
  type Answered_MovedAttributes = {
    data?: Resource_MovedAttributes | null;
    /** Why there is none, as in the answer of a refused call. */
    errors?: Array<Free> | null;
  };

  /** An effect that was applied. */
  type AppliedAttributes = {
    effectId: string;
    /** The life of the monster that has it. */
    life: number;
  };

  /** The last backup and what became of it. */
  type BackupState = {
    /** The size in bytes. */
    bytes: number;
    /** Why the last try failed; empty when it did not. */
    error: string;
    /** Seconds from one to the next. */
    every_s: number;
    /** The file of that one. */
    file: string;
    /** The number of its keys. */
    keys: number;
    /** Unix milliseconds of the last that is whole; 0 before the first. */
    made_at: number;
    /** The server that tried last. */
    server: string;
    /** How long it took. */
    took_ms: number;
    /** Unix milliseconds of the last try; 0 before the first. */
    tried_at: number;
  };

  /** One answer per job, in order. */
  type BatchAnswer = {
    /** How many were stored. */
    dispatched: number;
    items: Array<BatchItem>;
    /** How many were not. */
    refused: number;
  };

  /** Many jobs. */
  type BatchBody = {
    /** Up to 500. */
    jobs: Array<JobBody>;
  };

  /** The outcome of one job. */
  type BatchItem = {
    /** As in any error. */
    error?: Free | null;
    /** The stored job. */
    job?: Free | null;
    /** As `POST /api/jobs` would have answered. */
    status: number;
  };

  /** The outcome of an attack. */
  type BlowAttributes = {
    /** Hp left. */
    hp: number;
    /** Whether this attack killed. */
    killed: boolean;
    /** The life of the monster that took it. */
    life: number;
    /** Each hit that was taken. */
    lines: Array<LineAttributes>;
    reflected?: ReflectedAttributes | null;
  };

  /** The constants of a body. */
  type BodyFacts = {
    color: string;
    gm: number;
    /** Within it, this body's pull rules; `null` for the star. */
    hill_radius?: number | null;
    mass: number;
    name: string;
    parent?: string | null;
    radius: number;
    system_id: string;
    /** `star`, `planet` or `moon`. */
    type: string;
  };

  /** A body with its motion. */
  type BodyFull = BodyFacts & {
    position: Vector;
    velocity: Vector;
  };

  /** The outcome. */
  type BulkAnswer = {
    /** Done, or found when only counted. */
    count: number;
    /** The number of those that were gone. */
    missing: number;
    /** There are more than one request takes: ask again. */
    more: boolean;
    /** Their state did not allow it. */
    refused: number;
  };

  /** Which jobs, and what to do with them. */
  type BulkBody = {
    action: Action;
    /** Only say how many it would be. */
    count?: boolean;
    /** These; else all that the filter finds and whose state allows the action. */
    ids?: Array<string> | null;
    status?: string | null;
    text?: string | null;
    type?: string | null;
  };

  /** The counts of a call about many. */
  type BulkMeta = {
    /** Items that were done. */
    done: number;
    /** Items that were refused. */
    refused: number;
  };

  /** The answers of a call about many, in the order of its items. Each is the document that a call about it alone would have had: `data`, or `errors`. */
  type Bulk_MonsterAttributes = {
    /** One for each item. */
    data: Array<Answered_MonsterAttributes>;
    /** How many of them were refused. */
    meta: BulkMeta;
  };

  /** The answers of a call about many, in the order of its items. Each is the document that a call about it alone would have had: `data`, or `errors`. */
  type Bulk_MovedAttributes = {
    /** One for each item. */
    data: Array<Answered_MovedAttributes>;
    /** How many of them were refused. */
    meta: BulkMeta;
  };

  /** How many effects were taken away. */
  type CancelledAttributes = {
    cancelled: number;
    /** The life of the monster that had them. */
    life: number;
  };

  /** One check of a claim. */
  type Check = {
    code: string;
    ok: boolean;
    said: Said;
    sentence: string;
  };

  /** How to check. */
  type CheckAsk = {
    /** Mend what can be mended. */
    repair?: boolean;
  };

  /** The state of checks. */
  type CheckState = Free & {
    /** All findings, kept or counted. */
    findings_total: number;
    /** Unix milliseconds; null while it runs. */
    finished_at?: number | null;
    /** Why it failed. */
    reason?: string | null;
    /** Whether it repairs. */
    repair: boolean;
    /** Unix milliseconds. */
    started_at?: number | null;
    /** `never`, `running`, `done` or `failed`. */
    state: string;
    /** How long it took, or has taken so far. */
    took_ms?: number | null;
    /** Keys there were at the start, of the node that was asked. */
    total: number;
  };

  /** One number per second in each list, the oldest first. */
  type Columns = {
    active: Array<number | null>;
    /** Unix milliseconds at which each second began. */
    at: Array<number>;
    claimed: Array<number>;
    completed: Array<number>;
    dead: Array<number | null>;
    delayed: Array<number | null>;
    dispatched: Array<number>;
    /** In the handler. */
    durationP50Ms: Array<number | null>;
    durationP95Ms: Array<number | null>;
    everyMs: number;
    /** Attempts that failed. */
    failed: Array<number>;
    /** From ready to claimed. */
    latencyP50Ms: Array<number | null>;
    latencyP95Ms: Array<number | null>;
    /** Age of the oldest waiting job. */
    oldestMs: Array<number | null>;
    /** Events that were gone before they could be read: where this is not 0, the four counts are too low. */
    unread: Array<number>;
    waiting: Array<number | null>;
    workers: Array<number | null>;
  };

  /** The walk over the keys that a number comes from. */
  type Counted = {
    /** Unix milliseconds of its end, or of its begin while it goes on. */
    at: number;
    /** Whether all keys were seen; if not, there are at least so many. */
    done: boolean;
  };

  /** The name and password of a login. */
  type Credentials = {
    /** At least 8 characters. */
    password: string;
    /** 3 to 20 letters, digits or underscores. */
    username: string;
  };

  /** A recurring job. */
  type CronItem = {
    cron: string;
    /** The definition. */
    job: Free;
    jobId: string;
    /** The last result, as far as it may be seen. */
    lastResult?: Free | null;
    /** The next firing in UTC and in its zone. */
    next?: Free | null;
    /** Unix milliseconds of the next firing; null when it never comes. */
    nextAt?: number | null;
    /** The treatment of a firing while the one before is not over: `skip` or `queue`. */
    overlap: string;
    said?: Said | null;
    /** The expression in words. */
    sentence: string;
    /** `cron`, or the state of the firing under way. */
    status: string;
    timezone: string;
    type: string;
  };

  /** Definitions, the next to fire first. */
  type CronPage = {
    cursor?: string | null;
    items: Array<CronItem>;
  };

  /** The declaration of a key. */
  type Definition = {
    /** Patterns whose entries name it. */
    indexed_by: Array<string>;
    /** How long it lives, in words; `none` for no end. */
    life: string;
    /** The longest life in milliseconds, where it is fixed. */
    life_ms?: number | null;
    module: string;
    name: string;
    /** `seed` or `own`. */
    origin: string;
    /** The writers. */
    owner: string;
    /** Placeholders in braces. */
    pattern: string;
    readers: Array<string>;
    /** One sentence. */
    says: string;
    /** `open`, `payloads` or `secret`. */
    secrecy: string;
    /** `string json int hash list set zset stream channel`. */
    type: string;
  };

  /** Dead letters with the same error. */
  type DlqGroup = {
    count: number;
    /** The error's name; `unknown` where the result is gone. */
    error: string;
    /** One message of them, for those who may see payloads. */
    message?: string | null;
    newest?: JobItem | null;
    types: Array<string>;
  };

  /** Dead letters, the newest first; or groups, the largest first. */
  type DlqPage = {
    cursor?: string | null;
    items: Array<JobItem>;
    total: number;
  } | {
    cursor?: string | null;
    items: Array<DlqGroup>;
    total: number;
  };

  /** Something wrong. */
  type DoctorFinding = {
    /** The key or job it is about. */
    about: string;
    /** The entry of an index, when it is about one. */
    entry?: string | null;
    /** Such as `unlisted`, `wrong_state`, `miscounted`, `bad_value`. */
    kind: string;
    repaired: boolean;
    /** The fault as pages word it. */
    said: Said;
    /** The key, and what is wrong with it. */
    sentence: string;
  };

  /** Which reactor will take a drop. */
  type DropAttributes = {
    /** Null when none does. */
    reactorId?: string | null;
  };

  /** A changed job. */
  type EditBody = {
    /** The new payload, any JSON. */
    payload: Free;
  };

  /** An active effect. */
  type EffectAttributes = {
    /** Unix milliseconds. */
    expiresAt: number;
    sourceSkillId: number;
    sourceSkillLevel: number;
    statuses: Record<string, number>;
  };

  /** Damage of one character, all its hits together. */
  type EntryAttributes = {
    characterId: number;
    damage: number;
  };

  /** Newest first. */
  type EventPage = {
    cursor?: string | null;
    /** Envelopes, each with its `stream`. */
    items: Array<Free>;
  };

  /** Why a job does not run. */
  type Explained = {
    checks: Array<Check>;
    jobId: string;
    /** The place in the queue, from 1. */
    place?: number | null;
    said: Said;
    /** The first check that fails. */
    sentence: string;
    status?: string | null;
    workers: Array<Verdict>;
  };

  /** A flow that was stored. */
  type FlowAnswer = {
    /** The root, which runs last. */
    jobId: string;
    /** The stored jobs with their `status`, each parent before its children. */
    jobs: Array<Free>;
  };

  /** A job and those that must end before it. What a parent does after the failure of a child is its `x.onDependencyFailed`: `fail` (usual), `wait` or `ignore`. */
  type FlowBody = JobBody & {
    /** Each a job that may have children, too; up to 500 jobs in all, 16 deep. */
    children?: Array<FlowBody> | null;
  };

  /** The state of the game. */
  type GameStatus = {
    /** Players with an open socket. */
    online: number;
    paused: boolean;
    registration_open: boolean;
    tick: number;
    tick_rate: number;
    /** ISO 8601. */
    time: string;
    /** Seconds by which the game is behind UTC. */
    time_drift: number;
    time_scale: number;
    time_sync: boolean;
  };

  /** Open or closed. */
  type Gate = {
    open: boolean;
  };

  /** One module. */
  type Group = {
    about: string;
    keys: number;
    memory?: number | null;
    module: string;
    patterns: Array<PatternLine>;
    /** Keys under the module's prefixes that have no definition. */
    unknown: number;
  };

  /** A limit on a group. */
  type GroupBody = {
    /** Jobs that run at once, at most. */
    concurrency?: number | null;
    /** The period in milliseconds, a minute unless given. */
    periodMs?: number | null;
    /** Jobs that start in a period, at most. */
    rate?: number | null;
  };

  /** Groups. */
  type GroupPage = {
    items: Array<GroupRow>;
  };

  /** One group. */
  type GroupRow = {
    /** The group; `*` stands for each that has no limit of its own. */
    group: string;
    limit?: SetLimit | null;
    /** Running, where a limit counts them. */
    running: number;
    /** Jobs in the waiting list that are known to be of the group. */
    waiting: number;
  };

  /** The content of the Health page. */
  type Health = {
    backup?: BackupState | null;
    /** Names of the loops that run here. */
    loops: Array<string>;
    /** Names of the modules that run here. */
    modules: Array<string>;
    /** Other servers that share the store; null when it does not say. */
    other_servers?: number | null;
    /** Resident memory, where the system tells it. */
    resident_bytes?: number | null;
    /** State in words. */
    sentence: string;
    /** Unix milliseconds. */
    started_at: number;
    stopping: boolean;
    store: StoreStatus;
    uptime_ms: number;
    version: string;
  };

  /** Short histories. */
  type History = {
    /** Unix milliseconds of this answer. */
    at: number;
    /** Milliseconds of one point. */
    every_ms: number;
    /** Unix milliseconds at which the first point begins. */
    from: number;
    series: Array<Series>;
    /** The server that answers, as in `wk:servers`. It knows nothing of the time before its start, except events that the streams still held. */
    server: string;
    /** Unix milliseconds of its start. */
    started_at: number;
  };

  /** Something that was found. */
  type Hit = {
    /** `job`, `type`, `room`, `ship`, `player`, `monster`, `reactor` or `key`. */
    kind: string;
    /** The name, or the id where there is none. */
    label: string;
    /** Page of the dashboard that shows it. */
    link: string;
    /** Module it belongs to; empty for keys of others. */
    module: string;
    /** Beside the name: an id, a state, a place. */
    note: string;
  };

  /** The outcome of a hit. */
  type HitAttributes = {
    /** Whether it is gone. */
    destroyed: boolean;
    /** `HIT`, `DESTROYED` or `NO_MATCH`. */
    result: string;
    /** The state it has, or had. */
    state: number;
  };

  /** One job with all that belongs to it. */
  type JobAnswer = {
    at: number;
    /** Whether it was asked to stop. */
    cancelling: boolean;
    claimedAt?: number | null;
    /** Why something is missing here. */
    hidden?: string | null;
    /** As it is stored. */
    job: Free;
    /** The keys that hold it. */
    keys: Array<string>;
    /** `owner` and `ttlMs` while a worker holds it. */
    lock?: Free | null;
    /** The one sentence that matters now. */
    now: string;
    progress?: Free | null;
    /** How often it was taken back from dead workers. */
    recoveries: number;
    result?: Free | null;
    runAt?: number | null;
    status: string;
    tries: Tries;
    waitsFor: Array<string>;
  };

  /** A job to dispatch. Only `type` is needed; docs/jobs.md explains every field. */
  type JobBody = {
    /** `key`, `waitMs`: runs once, that long after the last job with this key. */
    debounce?: Free | null;
    /** Jobs that must complete first. */
    dependsOn?: Array<string> | null;
    /** 1 to 128 of `A-Z a-z 0-9 . _ ~ - :`; a new UUID when absent. */
    jobId?: string | null;
    metadata?: Free | null;
    /** Any JSON, kept byte for byte. */
    payload?: Free | null;
    /** 1 to 10; 7 and more go to the front. */
    priority?: number | null;
    /** `maxConcurrent`, `maxPerMinute`. */
    rateLimit?: Free | null;
    /** `attempts`, `backoff` `{type,delay,maxDelay,jitter}`, `skipOn`, `rerouteOn`. */
    retry?: Free | null;
    /** One of `delay` (ms), `runAt` (Unix ms), `cron` with `timezone`. */
    schedule?: Free | null;
    /** `server`, or `stack`, `capabilities`, `region` with `mode`. */
    target?: Free | null;
    /** `key`, `windowMs`: all but the first job with this key in the window are refused. */
    throttle?: Free | null;
    /** Which handler runs it. */
    type: string;
    /** `key`, `windowMs`, `onConflict`. */
    unique?: Free | null;
    /** `timeoutMs`, `expiresAt`, `traceparent`, `batch`, `exclude`, `limiter`, `group`, `sequence`, `onDependencyFailed` (`fail`, `wait` or `ignore`), `overlap`. */
    x?: Free | null;
  };

  /** One row. */
  type JobItem = {
    /** Unix milliseconds since when it runs. */
    claimedAt?: number | null;
    createdAt: number;
    /** Unix milliseconds of the end of the last attempt. */
    endedAt?: number | null;
    error?: Why | null;
    jobId: string;
    /** The one sentence that matters now. */
    now: string;
    priority: number;
    progress?: Free | null;
    /** Unix milliseconds at which it runs or fires. */
    runAt?: number | null;
    status: string;
    /** Milliseconds of the last attempt in the handler. */
    tookMs?: number | null;
    tries: Tries;
    /** Null when nobody can read the job. */
    type?: string | null;
    waitsFor: Array<string>;
    worker?: string | null;
  };

  /** A page. It looks at a bounded number of jobs, so with a filter it may be short and still have a cursor. */
  type JobPage = {
    /** Unix milliseconds of this answer. */
    at: number;
    cursor?: string | null;
    items: Array<JobItem>;
    /** How many jobs were looked at for this page. */
    lookedAt: number;
  };

  /** A live key in a list. */
  type KeyLine = {
    key: string;
    /** Bytes of a string, else elements. */
    length?: number | null;
    memory?: number | null;
    /** Milliseconds left; -1 for no end. */
    ttl_ms: number;
    type: string;
  };

  /** One key. */
  type KeyView = KeyLine & {
    definition?: Definition | null;
    /** Plain faults, in sentences. */
    findings: Array<Told>;
    /** Why the value is not shown. */
    hidden?: string | null;
    hidden_said?: Said | null;
    /** Other keys of the same scope that exist now. */
    neighbours: Array<Neighbour>;
    /** Values of the placeholders. */
    params: Free;
    /** Elements shown. */
    shown: number;
    /** Whether there is more of the value than is shown. */
    truncated: boolean;
    /** Text, pairs, members or entries, by type. Absent when hidden. */
    value?: Free | null;
  };

  /** One hit. */
  type LineAttributes = {
    /** As it was taken from the hp. */
    actual: number;
    /** As it was sent. */
    damage: number;
  };

  /** A token in a list: the stored part and its id, the first characters of its hash. */
  type Listed = Token & {
    /** Good for `token rm`. */
    id: string;
  };

  /** Somebody who is in. */
  type LoggedIn = {
    is_admin: boolean;
    player_id: string;
    /** The ship to fly. */
    ship_id?: string | null;
    /** For `Authorization: Bearer`, and for `auth` on the socket; good for a day. */
    token: string;
    username: string;
  };

  /** A login. */
  type Login = {
    /** A token of `worldkeep token new`. */
    token: string;
  };

  /** Something that deserves a look, with the one thing to do about it. */
  type Look = {
    /** `warn` or `bad`. */
    level: string;
    /** Page of the dashboard where it can be dealt with. */
    link: string;
    /** The origin: a module's name, or `store`. */
    module: string;
    said?: Said | null;
    /** The trouble in one English sentence. */
    sentence: string;
  };

  /** A new token; the only time its text is seen. */
  type Made = {
    /** Good for `token rm`. */
    id: string;
    /** The text to keep safe. */
    token: string;
  };

  /** A page of them. */
  type Many_MonsterAttributes = {
    /** The resources of this page. */
    data: Array<Resource_MonsterAttributes>;
    /** `self`, `first`, `last`, and `prev` and `next` where there are such pages. */
    links: Free;
    /** `total` after filtering, and `page` with `number`, `size` and `last`. */
    meta: Free;
  };

  /** A page of them. */
  type Many_ReactorAttributes = {
    /** The resources of this page. */
    data: Array<Resource_ReactorAttributes>;
    /** `self`, `first`, `last`, and `prev` and `next` where there are such pages. */
    links: Free;
    /** `total` after filtering, and `page` with `number`, `size` and `last`. */
    meta: Free;
  };

  /** The account that is logged in. */
  type Me = {
    /** For the header `X-CSRF-Token` of writes; only with a session. */
    csrf?: string | null;
    /** Unix milliseconds at which the token ends. */
    expires_at?: number | null;
    /** `nobody`, `loopback`, `token` or `session`. */
    kind: string;
    name: string;
    /** Job namespaces it may see; all when null. */
    namespaces?: Array<string> | null;
    /** Whether the party game is played here: the login offers it to guests. */
    party: boolean;
    /** Whether it may see payloads and results. */
    payloads: boolean;
    role?: Role | null;
    /** Tenants it may see; all when null. */
    tenants?: Array<string> | null;
  };

  /** Whether to mend. */
  type MendBody = {
    repair?: boolean;
  };

  /** A module in one line. */
  type ModuleLine = {
    name: string;
    running: boolean;
    says: string;
  };

  /** One monster, and what it waits for. */
  type MonsterAnswer = {
    data: Resource_MonsterAttributes;
    meta: Waits;
  };

  /** A monster as the API shows it. */
  type MonsterAttributes = {
    channelId: number;
    controlCharacterId: number;
    damageEntries: Array<EntryAttributes>;
    fh: number;
    hp: number;
    instance: string;
    /** How often its id was given out, from 1: with the id it names this monster and no heir. */
    life: number;
    mapId: number;
    maxHp: number;
    maxMp: number;
    monsterId: number;
    mp: number;
    stance: number;
    statusEffects: Array<EffectAttributes>;
    team: number;
    worldId: number;
    x: number;
    y: number;
  };

  /** The new position of a monster. */
  type MovedAttributes = {
    fh: number;
    /** The life of the monster that moved. */
    life: number;
    stance: number;
    x: number;
    y: number;
  };

  /** A key of the same scope. */
  type Neighbour = {
    key: string;
    name: string;
    says: string;
  };

  /** A body for an attack. */
  type NewAttack = {
    /** 0 melee, 1 ranged, 2 magic, 3 energy. */
    attackType?: number | null;
    characterId: number;
    damage?: number | null;
    /** Each hit; or one as `damage`. */
    damages?: Array<number> | null;
    /** The life it is aimed at, as the monster was shown: an heir of the id is not hit, and the answer is 404. */
    life?: number | null;
  };

  /** A body for a drop. */
  type NewDrop = {
    dropId: number;
    itemId: number;
    ownerId: number;
    /** Others are ignored. */
    playerDrop: boolean;
    quantity: number;
    x: number;
    y: number;
  };

  /** One more ship. */
  type NewFleetShip = {
    /** 1 to 32 characters, unlike the other ships' names. */
    name: string;
    /** `fast_frigate` (default) or `cargo_hauler`. */
    ship_class?: string | null;
  };

  /** A body for a hit. */
  type NewHit = {
    characterId: number;
    /** 0, the default, is a plain attack. */
    skillId?: number | null;
  };

  /** A body about many monsters, for the API's description. */
  type NewItems = {
    /** At most 1000 items, each as the `data` of a call about one. `id` names a monster that is there already. */
    data: Array<Free>;
  };

  /** The token that is good from now on. */
  type NewLogin = {
    /** As after a login; every other token of the player has ended. */
    token: string;
  };

  /** A body for a new monster, for the API's description. */
  type NewMonster = {
    fh?: number | null;
    /** A template of the catalogue, which also gives hp and mp. */
    monsterId: number;
    spawnSourceId?: number | null;
    /** The spawner, for those who take its monsters away together. */
    spawnSourceType?: string | null;
    team?: number | null;
    x: number;
    y: number;
  };

  /** A body for a movement. */
  type NewMovement = {
    fh?: number | null;
    /** The life it is meant for: an heir of the id is not moved, and the answer is 404. */
    life?: number | null;
    stance: number;
    x: number;
    y: number;
  };

  /** The old password and the new one. */
  type NewPassword = {
    /** At least 8 characters. */
    new_password: string;
    old_password: string;
  };

  /** A body for a character that comes in. */
  type NewPresence = {
    /** A hidden one controls nothing. */
    hidden?: boolean | null;
  };

  /** A body for a new reactor, for the API's description. */
  type NewReactor = {
    /** Not 0; looked up in the catalogue when there is no `data`. */
    classification: number;
    /** As it is stored: `stateInfo`, `timeoutInfo` and so on. */
    data?: Free | null;
    /** Milliseconds during which its spot stays empty after it. */
    delay?: number | null;
    direction?: number | null;
    /** Empty takes the name of its kind. */
    name?: string | null;
    state?: number | null;
    x: number;
    y: number;
  };

  /** A ship that nobody owns. */
  type NewShip = {
    /** 1 to 32 characters. */
    name: string;
    /** `fast_frigate` (default) or `cargo_hauler`. */
    ship_class?: string | null;
    /** Near this station instead of in a low orbit of the Earth. */
    station_id?: string | null;
  };

  /** A body for a skill. */
  type NewSkill = {
    /** A game master's use skips every check. */
    gm?: boolean | null;
    skillId: number;
    skillLevel: number;
  };

  /** A thing to build, and its place. */
  type NewStation = {
    /** Metres above its mean radius; default 400 km. */
    altitude?: number | null;
    /** Instead of an altitude, a point such as `Earth-Luna-L4`. */
    lagrange?: string | null;
    /** 1 to 32 characters. */
    name: string;
    /** Such as `Earth`. */
    parent_body: string;
  };

  /** A body for an effect. */
  type NewStatus = {
    /** Milliseconds. */
    duration: number;
    sourceCharacterId?: number | null;
    sourceSkillId?: number | null;
    sourceSkillLevel?: number | null;
    /** `PLAYER_SKILL`, the default, or `MONSTER_SKILL`. */
    sourceType?: string | null;
    /** Status to value. */
    statuses: Record<string, number>;
    /** Milliseconds; poison and venom have 1000 without it. */
    tickInterval?: number | null;
  };

  /** The token to make. */
  type NewToken = {
    /** Days until it ends. When absent it ends with the token that makes it, or never. */
    days?: number | null;
    /** For people, 1 to 64 characters. */
    name: string;
    /** Job namespaces it is good for. */
    namespaces?: Array<string> | null;
    /** Whether it may see payloads and results. */
    payloads?: boolean;
    /** The role. */
    role: Role;
    /** Tenants it is good for. With `tenants` and `namespaces` both absent it is good everywhere; else only for what they list. Nobody gives more than they hold. */
    tenants?: Array<string> | null;
  };

  /** Firings to come. */
  type NextAnswer = {
    cron: string;
    /** `at` (Unix ms), `utc`, `local`, and `clock` where a clock change had a hand in it. */
    items: Array<Free>;
    /** The same for pages. */
    said: Said;
    /** The expression in words. */
    sentence: string;
    timezone: string;
  };

  /** The numbers of one namespace. */
  type Numbers = {
    active: number;
    /** Unix milliseconds of this answer. */
    at: number;
    /** Completed per second, over the last ten seconds. */
    completedPerSecond: number;
    cron: number;
    /** Recurring jobs whose last firing failed for good, as far as that is no dead letter (`jobs.cron_failed`). */
    cronFailed: Array<string>;
    dead: number;
    delayed: number;
    /** Jobs that failed, ever. */
    failed: number;
    /** Failed attempts per second, over the last ten seconds. */
    failedPerSecond: number;
    /** The leader of the scheduling: `id`, `host`, `pid`, `since`. */
    leader?: Free | null;
    namespace: string;
    /** Other namespaces of this server. */
    namespaces: Array<string>;
    /** Age of the job at the head of the queue. */
    oldestWaitingMs?: number | null;
    /** Waiting for other jobs. */
    parked: number;
    /** Paused types; `*` is all. */
    paused: Array<string>;
    /** Jobs that completed, ever. */
    processed: number;
    /** How long jobs that began within the last minute had waited for a worker: the time that 95 of 100 kept. */
    startedP95Ms?: number | null;
    waiting: number;
    /** Workers alive. */
    workers: number;
  };

  /** One resource, as most routes answer. */
  type One_AppliedAttributes = {
    /** The resource. */
    data: Resource_AppliedAttributes;
  };

  /** One resource, as most routes answer. */
  type One_BlowAttributes = {
    /** The resource. */
    data: Resource_BlowAttributes;
  };

  /** One resource, as most routes answer. */
  type One_CancelledAttributes = {
    /** The resource. */
    data: Resource_CancelledAttributes;
  };

  /** One resource, as most routes answer. */
  type One_DropAttributes = {
    /** The resource. */
    data: Resource_DropAttributes;
  };

  /** One resource, as most routes answer. */
  type One_HitAttributes = {
    /** The resource. */
    data: Resource_HitAttributes;
  };

  /** One resource, as most routes answer. */
  type One_MonsterAttributes = {
    /** The resource. */
    data: Resource_MonsterAttributes;
  };

  /** One resource, as most routes answer. */
  type One_ReactorAttributes = {
    /** The resource. */
    data: Resource_ReactorAttributes;
  };

  /** One resource, as most routes answer. */
  type One_TeardownAttributes = {
    /** The resource. */
    data: Resource_TeardownAttributes;
  };

  /** One resource, as most routes answer. */
  type One_UsedAttributes = {
    /** The resource. */
    data: Resource_UsedAttributes;
  };

  /** The front page. */
  type Overview = {
    /** Unix milliseconds of this answer. */
    at: number;
    /** Whether the demo world runs here. */
    demo: boolean;
    /** The things that deserve a look, the worst first, at most five. */
    looks: Array<Look>;
    /** How many there are in all. */
    looks_total: number;
    /** Modules that run here, in the order of the dashboard. */
    modules: Array<ModuleLine>;
    /** State in words: "Everything is running. Three things deserve a look." */
    sentence: string;
    started_at: number;
    store: StoreStatus;
    /** One tile per module that has one. */
    tiles: Array<Tile>;
    version: string;
  };

  /** A part of a list that is in the order of its ids. */
  type Page_BodyFull = {
    /** Of the next part; null at the end. */
    cursor?: string | null;
    items: Array<BodyFacts & {
      position: Vector;
      velocity: Vector;
    }>;
    /** The tick that the answer is of. */
    tick: number;
  };

  /** A part of a list that is in the order of its ids. */
  type Page_ShipListed = {
    /** Of the next part; null at the end. */
    cursor?: string | null;
    items: Array<ShipLine & {
      fuel: number;
      fuel_capacity: number;
      player_id: string;
      /** Whose gravity counts for it. */
      reference_body: string;
    }>;
    /** The tick that the answer is of. */
    tick: number;
  };

  /** A part of a list that is in the order of its ids. */
  type Page_StationLine = {
    /** Of the next part; null at the end. */
    cursor?: string | null;
    items: Array<{
      jumpgate_id?: string | null;
      mass: number;
      name: string;
      parent_body: string;
      position: Vector;
      radius: number;
      station_id?: string | null;
      system_id: string;
      velocity: Vector;
    }>;
    /** The tick that the answer is of. */
    tick: number;
  };

  /** One pattern. */
  type PatternLine = Definition & {
    keys: number;
    memory?: number | null;
  };

  /** The outcome. */
  type PickAnswer = {
    /** Done, or found when only counted. */
    count: number;
    /** Named and no dead letter. */
    missing: number;
  };

  /** Which ones: one of `ids`, `type`, `error` and `all`. */
  type PickBody = {
    all?: boolean;
    /** Only say how many it would be. */
    count?: boolean;
    error?: string | null;
    ids?: Array<string> | null;
    type?: string | null;
  };

  /** An expression to try. */
  type Preview = {
    cron: string;
    /** 1 to 100, default 10. */
    n?: number | null;
    /** IANA name, UTC when absent. */
    timezone?: string | null;
  };

  /** A reactor as the API shows it. Its data, its tenant and its time of change are not shown. */
  type ReactorAttributes = {
    channelId: number;
    classification: number;
    delay: number;
    direction: number;
    eventState: number;
    instance: string;
    mapId: number;
    name: string;
    state: number;
    worldId: number;
    x: number;
    y: number;
  };

  /** Readiness, with reasons. */
  type Ready = {
    ready: boolean;
    /** Why not, in sentences; empty when ready. */
    reasons: Array<string>;
    /** The same for pages. */
    said: Array<Said>;
  };

  /** The damage that came back to the attacker. */
  type ReflectedAttributes = {
    damage: number;
    /** `PHYSICAL` or `MAGICAL`. */
    type: string;
  };

  /** The doctor's findings. */
  type Report = {
    findings: Array<DoctorFinding>;
    findings_total: number;
    namespace: string;
    remaining: number;
    repaired: number;
    /** Keys looked at. */
    scanned: number;
    /** All of it in a sentence. */
    sentence: string;
    /** Notes: no fault now, perhaps one later. */
    warnings: Array<Told>;
  };

  /** One thing with its attributes. */
  type Resource_AppliedAttributes = {
    /** An effect that was applied. */
    attributes: {
      effectId: string;
      /** The life of the monster that has it. */
      life: number;
    };
    /** As text. */
    id: string;
    /** `reactors` or `monsters`, or what the route answers with. */
    type: string;
  };

  /** One thing with its attributes. */
  type Resource_BlowAttributes = {
    /** The outcome of an attack. */
    attributes: {
      /** Hp left. */
      hp: number;
      /** Whether this attack killed. */
      killed: boolean;
      /** The life of the monster that took it. */
      life: number;
      /** Each hit that was taken. */
      lines: Array<LineAttributes>;
      reflected?: ReflectedAttributes | null;
    };
    /** As text. */
    id: string;
    /** `reactors` or `monsters`, or what the route answers with. */
    type: string;
  };

  /** One thing with its attributes. */
  type Resource_CancelledAttributes = {
    /** How many effects were taken away. */
    attributes: {
      cancelled: number;
      /** The life of the monster that had them. */
      life: number;
    };
    /** As text. */
    id: string;
    /** `reactors` or `monsters`, or what the route answers with. */
    type: string;
  };

  /** One thing with its attributes. */
  type Resource_DropAttributes = {
    /** Which reactor will take a drop. */
    attributes: {
      /** Null when none does. */
      reactorId?: string | null;
    };
    /** As text. */
    id: string;
    /** `reactors` or `monsters`, or what the route answers with. */
    type: string;
  };

  /** One thing with its attributes. */
  type Resource_HitAttributes = {
    /** The outcome of a hit. */
    attributes: {
      /** Whether it is gone. */
      destroyed: boolean;
      /** `HIT`, `DESTROYED` or `NO_MATCH`. */
      result: string;
      /** The state it has, or had. */
      state: number;
    };
    /** As text. */
    id: string;
    /** `reactors` or `monsters`, or what the route answers with. */
    type: string;
  };

  /** One thing with its attributes. */
  type Resource_MonsterAttributes = {
    /** A monster as the API shows it. */
    attributes: {
      channelId: number;
      controlCharacterId: number;
      damageEntries: Array<EntryAttributes>;
      fh: number;
      hp: number;
      instance: string;
      /** How often its id was given out, from 1: with the id it names this monster and no heir. */
      life: number;
      mapId: number;
      maxHp: number;
      maxMp: number;
      monsterId: number;
      mp: number;
      stance: number;
      statusEffects: Array<EffectAttributes>;
      team: number;
      worldId: number;
      x: number;
      y: number;
    };
    /** As text. */
    id: string;
    /** `reactors` or `monsters`, or what the route answers with. */
    type: string;
  };

  /** One thing with its attributes. */
  type Resource_MovedAttributes = {
    /** The new position of a monster. */
    attributes: {
      fh: number;
      /** The life of the monster that moved. */
      life: number;
      stance: number;
      x: number;
      y: number;
    };
    /** As text. */
    id: string;
    /** `reactors` or `monsters`, or what the route answers with. */
    type: string;
  };

  /** One thing with its attributes. */
  type Resource_ReactorAttributes = {
    /** A reactor as the API shows it. Its data, its tenant and its time of change are not shown. */
    attributes: {
      channelId: number;
      classification: number;
      delay: number;
      direction: number;
      eventState: number;
      instance: string;
      mapId: number;
      name: string;
      state: number;
      worldId: number;
      x: number;
      y: number;
    };
    /** As text. */
    id: string;
    /** `reactors` or `monsters`, or what the route answers with. */
    type: string;
  };

  /** One thing with its attributes. */
  type Resource_TeardownAttributes = {
    /** How many of a module's things were taken away. */
    attributes: {
      /** Of all tenants. */
      destroyed: number;
    };
    /** As text. */
    id: string;
    /** `reactors` or `monsters`, or what the route answers with. */
    type: string;
  };

  /** One thing with its attributes. */
  type Resource_UsedAttributes = {
    /** How a skill went. */
    attributes: {
      /** Milliseconds until its effect. */
      delayMs: number;
      /** The life of the monster that used it. */
      life: number;
      /** Mp left. */
      mp: number;
      /** Whether the dice let it work. */
      worked: boolean;
    };
    /** As text. */
    id: string;
    /** `reactors` or `monsters`, or what the route answers with. */
    type: string;
  };

  /** The role of a token. Each includes the ones before it. */
  type Role = "reader" | "operator" | "admin";

  /** A room in the list. */
  type RoomLine = {
    code: string;
    /** Unix milliseconds. */
    created_at: number;
    /** Unix milliseconds. */
    expires_at: number;
    /** `lobby`, `game` or `over`. */
    phase: string;
    players_active: number;
    /** Active players that nobody holds. */
    players_free: number;
  };

  /** A page of rooms, by code. */
  type RoomsPage = {
    cursor?: string | null;
    items: Array<RoomLine>;
  };

  /** From body axes to inertial ones. */
  type Rotation = {
    w: number;
    x: number;
    y: number;
    z: number;
  };

  /** How a sentence looks in answers. */
  type Said = {
    /** Such as `jobs.dead`; the pages' catalogues know it as `said.jobs.dead`. */
    code: string;
    /** The values for the holes of the sentence: texts, numbers, sentences, lists of them. */
    params: Free;
  };

  /** The hits of a search. */
  type SearchAnswer = {
    /** Not everything was looked at: there may be more. */
    bounded: boolean;
    /** At most six of each kind. */
    hits: Array<Hit>;
  };

  /** One series as charts take it. */
  type Series = {
    /** A module's name, or `server`. */
    module: string;
    /** Which number, such as `events`, `waiting`, `tick`. */
    name: string;
    /** One number per point, the oldest first; null where nothing was measured. In the day's grain a point is the mean of its measurements, and for milliseconds the longest. */
    points: Array<number | null>;
    /** Namespace of jobs, where there is one. */
    scope?: string | null;
    unit: Unit;
    whose: Whose;
  };

  /** A limit that was set at run time, on a type or on a group. All workers obey it, whatever the jobs ask for. */
  type SetLimit = {
    /** Jobs that run at once, at most. */
    concurrency?: number | null;
    /** The period in milliseconds. It slides: any stretch of this length has at most `rate` starts. */
    periodMs?: number | null;
    /** Jobs that start in a period, at most. */
    rate?: number | null;
  };

  /** A change of a ship. */
  type ShipChange = {
    /** 1 to 32 characters. */
    name: string;
  };

  /** A ship with all there is to know. */
  type ShipFull = ShipLine & {
    angular_velocity: Vector;
    attitude_hold: boolean;
    attitude_mode: string;
    attitude_target_id?: string | null;
    attitude_target_type?: string | null;
    docked_at_tick: number;
    docked_station_id?: string | null;
    dry_mass: number;
    fuel: number;
    fuel_capacity: number;
    is_npc: boolean;
    landed_body_name?: string | null;
    player_id: string;
    rcs_firing: number;
    /** The body whose pull rules it. */
    reference_body: string;
    rotation_input: Vector;
    system_id: string;
    translation_input: Vector;
    wheel_momentum: Vector;
  };

  /** A ship as everybody sees it. */
  type ShipLine = {
    attitude: Rotation;
    name: string;
    position: Vector;
    ship_class: string;
    ship_id: string;
    thrust_level: number;
    velocity: Vector;
  };

  /** A ship in the list of all. */
  type ShipListed = ShipLine & {
    fuel: number;
    fuel_capacity: number;
    player_id: string;
    /** Whose gravity counts for it. */
    reference_body: string;
  };

  /** One setting as `worldkeep config show --json` prints it. */
  type ShownSetting = {
    name: string;
    says: string;
    /** The source. */
    source: string;
    /** Secrets are hidden. */
    value: string;
  };

  /** A station or a gate. */
  type StationLine = {
    jumpgate_id?: string | null;
    mass: number;
    name: string;
    parent_body: string;
    position: Vector;
    radius: number;
    station_id?: string | null;
    system_id: string;
    velocity: Vector;
  };

  /** A store as the pages show it. Holds no secret. */
  type StoreStatus = {
    /** `maxmemory-policy`. */
    eviction: string;
    /** The same for pages. */
    kept: Said;
    /** `embedded`, `standalone`, `sentinel` or `cluster`. */
    kind: string;
    /** In words: `append-only log, synced every second`, `none`. */
    persistence: string;
    /** The address, without password: a directory, `memory`, or an address. */
    place: string;
    /** Why it is down, when it is. */
    reason?: string | null;
    /** How often a connection was opened anew. */
    reconnects: number;
    /** Why it answers and refuses every write, such as a full disk. */
    refuses_writes?: string | null;
    /** Program and version, such as `redis 7.0.15`. */
    server: string;
    /** Unix milliseconds of the last change of `up`. */
    since_ms: number;
    /** Whether the last try to reach it worked. */
    up: boolean;
    /** The warnings, each with what to do about it. */
    warnings: Array<Told>;
  };

  /** How many of a module's things were taken away. */
  type TeardownAttributes = {
    /** Of all tenants. */
    destroyed: number;
  };

  /** A new rate. */
  type TickRate = {
    /** Ticks per second, 0.1 to 100. */
    tick_rate: number;
  };

  /** A ticket. */
  type Ticket = {
    /** How long it is good for. */
    expires_in_s: number;
    /** For `?ticket=` of one socket. */
    ticket: string;
  };

  /** One module on the front page. */
  type Tile = {
    counted?: Counted | null;
    /** Page of the dashboard that the tile opens. */
    link: string;
    /** The things that deserve a look. */
    looks: Array<Look>;
    /** Which module. */
    module: string;
    /** The number that matters most. */
    number: number;
    /** The same line for pages, which word it in their reader's language. */
    said: Said;
    /** One line about it, in English. */
    sentence: string;
    /** The things it counts, such as `jobs waiting`. */
    unit: string;
  };

  /** A new scale. */
  type TimeScale = {
    /** Game seconds per second, 0.1 to 100. */
    time_scale: number;
  };

  /** On or off. */
  type TimeSync = {
    enabled: boolean;
  };

  /** Events of one job. */
  type Timeline = {
    cursor?: string | null;
    /** Envelopes, the oldest first. */
    items: Array<Free>;
  };

  /** The rights of a token, as stored. */
  type Token = {
    /** Unix milliseconds. */
    created_at: number;
    /** Unix milliseconds; never when absent. */
    expires_at?: number | null;
    /** For people: who or what uses it. */
    name: string;
    /** Job namespaces it is good for. */
    namespaces?: Array<string> | null;
    /** Whether it may see payloads and results. */
    payloads?: boolean;
    /** The role. */
    role: Role;
    /** Tenants it is good for. With `tenants` and `namespaces` both absent it is good everywhere; else only for what they list. */
    tenants?: Array<string> | null;
  };

  /** All tokens. */
  type TokenList = {
    /** Always null: there are few. */
    cursor?: string | null;
    items: Array<Listed>;
  };

  /** A sentence with what pages need to word it themselves. */
  type Told = {
    /** For pages. */
    said: Said;
    /** In English. */
    sentence: string;
  };

  /** The tree. */
  type Tree = {
    /** Unix milliseconds of the count. */
    at: number;
    /** Whether the count is finished; if not, ask again. */
    done: boolean;
    /** Keys there were when the count began. */
    expected: number;
    /** Keys seen. */
    keys: number;
    /** Whether counts are left out because the token is limited to some tenants or namespaces. */
    limited: boolean;
    /** Bytes, judged by samples. */
    memory?: number | null;
    /** Every module with all its patterns, also those without keys; last the keys of others. */
    modules: Array<Group>;
  };

  /** The tree that a job belongs to. */
  type TreeAnswer = {
    at: number;
    /** The job that was asked for. */
    jobId: string;
    /** How many jobs are shown. */
    jobs: number;
    /** From the root of its flow, or from the job itself. */
    root: TreeNode;
    /** Whether there are more: a tree shows up to 500 jobs, 16 deep. */
    truncated: boolean;
  };

  /** A job with those it waits for, or waited for. */
  type TreeNode = {
    children: Array<TreeNode>;
    jobId: string;
    /** Of a parent, what it does after the failure of a child: `fail`, `wait` or `ignore`. */
    onDependencyFailed?: string | null;
    /** Of the last attempt, up to 4096 bytes; `GET /api/jobs/{id}/result` has longer ones. */
    result?: Free | null;
    /** The job's state; `gone` when nothing of it is left. */
    status: string;
    /** Absent when the job is gone. */
    type?: string | null;
  };

  /** Runs used of runs allowed. */
  type Tries = {
    allowed: number;
    used: number;
  };

  /** One type, and what this server saw of it. */
  type TypeAnswer = TypeRow & {
    /** Upper bounds of the histograms in `seen`; the last bucket has none. */
    boundsMs: Array<number>;
    /** Since this server looks. */
    seen: TypeTally;
  };

  /** The body of a verb. */
  type TypeBody = {
    /** Limit: so many jobs run at once, at most. */
    concurrency?: number | null;
    /** Purge: only say how many it would be. */
    count?: boolean;
    /** Pause: resume by itself after so many milliseconds. */
    forMs?: number | null;
    /** Limit: the period in milliseconds, a minute unless given. */
    periodMs?: number | null;
    /** Limit: so many jobs start in a period, at most. */
    rate?: number | null;
    /** Pause: resume by itself at this Unix millisecond. */
    until?: number | null;
  };

  /** The smallest limits that a waiting job asks for. */
  type TypeLimits = {
    maxConcurrent?: number | null;
    maxPerMinute?: number | null;
  };

  /** All types. */
  type TypePage = {
    /** Whether everything is paused. */
    allPaused: boolean;
    cursor?: string | null;
    /** False when only the first 10 000 waiting and delayed jobs were counted. */
    exact: boolean;
    items: Array<TypeRow>;
  };

  /** One type. */
  type TypeRow = {
    /** Running, by its counter. */
    active: number;
    /** Among the newest 2 000 dead letters. */
    dead: number;
    delayed: number;
    limit?: SetLimit | null;
    limits: TypeLimits;
    paused: boolean;
    /** Unix milliseconds at which it resumes by itself. */
    pausedUntil?: number | null;
    /** Claimed in this minute, where a limit counts them. */
    thisMinute: number;
    /** Started in the period of that limit. */
    thisPeriod: number;
    type: string;
    waiting: number;
  };

  /** One type since the server began to look. */
  type TypeTally = {
    completed: number;
    dead: number;
    dispatched: number;
    /** In the handler. */
    duration: Array<number>;
    /** Attempts that failed, whatever came after. */
    failed: number;
    /** From ready to claimed: how many in each bucket of `boundsMs`. */
    latency: Array<number>;
  };

  /** The unit of a series. */
  type Unit = "per_second" | "count" | "ms" | "bytes";

  /** How a skill went. */
  type UsedAttributes = {
    /** Milliseconds until its effect. */
    delayMs: number;
    /** The life of the monster that used it. */
    life: number;
    /** Mp left. */
    mp: number;
    /** Whether the dice let it work. */
    worked: boolean;
  };

  /** A place, a velocity, a turn. */
  type Vector = {
    x: number;
    y: number;
    z: number;
  };

  /** The answer that one worker would give to the job. */
  type Verdict = {
    alive: boolean;
    matches: boolean;
    /** Each thing that keeps the worker from it, or that it may. */
    said: Array<Said>;
    sentence: string;
    serverId: string;
  };

  /** Version of this build. */
  type Version = {
    name: string;
    version: string;
  };

  /** One such skill. */
  type Wait = {
    remainingMs: number;
    skillId: number;
  };

  /** The skills that a monster cannot use yet. */
  type Waits = {
    cooldowns: Array<Wait>;
  };

  /** The owner of a number: the store or one server. */
  type Whose = "store" | "server";

  /** Why the last attempt failed. */
  type Why = {
    /** Only for those who may see payloads. */
    message?: string | null;
    name: string;
  };

  /** A registered worker. */
  type WorkerItem = Free & {
    /** Whether it is one of ours: others may not keep routes, pauses and limits. */
    ours: boolean;
    /** Unix milliseconds of the last sign of life. */
    seenAt?: number | null;
  };

  /** All workers. */
  type WorkerPage = {
    alive: number;
    cursor?: string | null;
    items: Array<WorkerItem>;
  };

  // Per method: path, body of the request, answer. The first path that fits counts.
  type Get = [
    ["/api/admin/registrations", Free, Unsaid],
    ["/api/monsters/templates", Free, Unsaid],
    ["/api/reactors/templates", Free, Unsaid],
    ["/api/admin/snapshots", Free, Unsaid],
    ["/api/admin/players", Free, Unsaid],
    ["/api/stats/history", Free, Columns],
    ["/api/admin/status", Free, AdminStatus],
    ["/api/jobs:doctor", Free, Report],
    ["/api/jumpgates", Free, Page_StationLine],
    ["/api/overview", Free, Overview],
    ["/api/stations", Free, Page_StationLine],
    ["/openapi.json", Free, Free],
    ["/api/history", Free, History],
    ["/api/session", Free, Me],
    ["/api/systems", Free, Unsaid],
    ["/api/workers", Free, WorkerPage],
    ["/api/backup", Free, string],
    ["/api/bodies", Free, Page_BodyFull],
    ["/api/config", Free, Array<ShownSetting>],
    ["/api/events", Free, EventPage],
    ["/api/groups", Free, GroupPage],
    ["/api/health", Free, Health],
    ["/api/queues", Free, TypePage],
    ["/api/search", Free, SearchAnswer],
    ["/api/status", Free, GameStatus],
    ["/api/tokens", Free, TokenList],
    ["/api/worlds", Free, Unsaid],
    ["/api/check", Free, CheckState],
    ["/api/fleet", Free, Unsaid],
    ["/api/rooms", Free, RoomsPage],
    ["/api/ships", Free, Page_ShipListed],
    ["/api/stats", Free, Numbers],
    ["/api/cron", Free, CronPage],
    ["/api/jobs", Free, JobPage],
    ["/api/keys", Free, Tree],
    ["/api/dlq", Free, DlqPage],
    ["/healthz", Free, string],
    ["/metrics", Free, string],
    ["/version", Free, Version],
    ["/readyz", Free, Ready],
    [`/api/worlds/${string}/channels/${string}/maps/${string}/instances/${string}/monsters/in-rect`, Free, Many_MonsterAttributes],
    [`/api/worlds/${string}/channels/${string}/maps/${string}/instances/${string}/reactors/${string}`, Free, One_ReactorAttributes],
    [`/api/worlds/${string}/channels/${string}/maps/${string}/instances/${string}/monsters`, Free, Many_MonsterAttributes],
    [`/api/worlds/${string}/channels/${string}/maps/${string}/instances/${string}/reactors`, Free, Many_ReactorAttributes],
    [`/api/ships/${string}/automation/${string}`, Free, Unsaid],
    [`/api/ships/${string}/automation`, Free, Unsaid],
    [`/api/admin/players/${string}`, Free, Unsaid],
    [`/api/jobs/${string}/timeline`, Free, Timeline],
    [`/api/rooms/${string}/photos/${string}`, Free, Unsaid],
    [`/api/jobs/${string}/explain`, Free, Explained],
    [`/api/rooms/${string}/qr.svg`, Free, string],
    [`/api/jobs/${string}/result`, Free, Free],
    [`/api/rooms/${string}/state`, Free, Unsaid],
    [`/api/ships/${string}/orbit`, Free, Unsaid],
    [`/api/cron/${string}/next`, Free, NextAnswer],
    [`/api/jobs/${string}/tree`, Free, TreeAnswer],
    [`/api/monsters/${string}`, Free, MonsterAnswer],
    [`/api/reactors/${string}`, Free, One_ReactorAttributes],
    [`/api/queues/${string}`, Free, TypeAnswer],
    [`/api/rooms/${string}`, Free, Unsaid],
    [`/api/ships/${string}`, Free, ShipFull],
    [`/api/cron/${string}`, Free, CronItem],
    [`/api/jobs/${string}`, Free, JobAnswer],
    [`/api/keys/${string}`, Free, KeyView],
  ];
  type Post = [
    ["/api/admin/registrations/disable", Free, Unsaid],
    ["/api/admin/registrations/enable", Free, Unsaid],
    ["/api/monsters/bulk/movement", NewItems, Bulk_MovedAttributes],
    ["/api/admin/game/time-sync", TimeSync, GameStatus],
    ["/api/admin/registrations", Gate, Unsaid],
    ["/api/monsters/bulk/read", NewItems, Bulk_MonsterAttributes],
    ["/api/admin/game/resume", Free, GameStatus],
    ["/api/admin/game/pause", Free, GameStatus],
    ["/api/admin/game/init", Free, GameStatus],
    ["/api/admin/jumpgates", NewStation, Unsaid],
    ["/api/admin/snapshots", Free, Unsaid],
    ["/api/admin/stations", NewStation, Unsaid],
    ["/api/auth/register", Credentials, LoggedIn],
    ["/api/cron:preview", Preview, NextAnswer],
    ["/api/admin/reset", Free, GameStatus],
    ["/api/admin/ships", NewShip, Unsaid],
    ["/api/auth/logout", Free, null],
    ["/api/dlq:requeue", PickBody, PickAnswer],
    ["/api/jobs:doctor", MendBody, Report],
    ["/api/auth/login", Credentials, LoggedIn],
    ["/api/jobs:batch", BatchBody, BatchAnswer],
    ["/api/jobs:bulk", BulkBody, BulkAnswer],
    ["/api/jobs:flow", FlowBody, FlowAnswer],
    ["/api/ws-ticket", Free, Ticket],
    ["/api/session", Login, Me],
    ["/api/tokens", NewToken, Made],
    ["/api/check", CheckAsk, CheckState],
    ["/api/fleet", NewFleetShip, Unsaid],
    ["/api/rooms", Free, Unsaid],
    ["/api/jobs", JobBody, Free],
    [`/api/worlds/${string}/channels/${string}/maps/${string}/instances/${string}/monsters/bulk`, NewItems, Bulk_MonsterAttributes],
    [`/api/worlds/${string}/channels/${string}/maps/${string}/instances/${string}/monsters`, NewMonster, One_MonsterAttributes],
    [`/api/worlds/${string}/channels/${string}/maps/${string}/instances/${string}/reactors`, NewReactor, One_ReactorAttributes],
    [`/api/worlds/${string}/channels/${string}/maps/${string}/instances/${string}/drops`, NewDrop, One_DropAttributes],
    [`/api/admin/snapshots/${string}/restore`, Free, GameStatus],
    [`/api/monsters/${string}/movement`, NewMovement, One_MonsterAttributes],
    [`/api/ships/${string}/automation`, Free, Unsaid],
    [`/api/monsters/${string}/damage`, NewAttack, One_BlowAttributes],
    [`/api/monsters/${string}/skills`, NewSkill, One_UsedAttributes],
    [`/api/monsters/${string}/status`, NewStatus, One_AppliedAttributes],
    [`/api/fleet/${string}/activate`, Free, Unsaid],
    [`/api/ships/${string}/maneuver`, Free, Unsaid],
    [`/api/queues/${string}:resume`, Free, Free],
    [`/api/reactors/${string}/hits`, NewHit, One_HitAttributes],
    [`/api/workers/${string}:quiet`, Free, Free],
    [`/api/groups/${string}:limit`, GroupBody, Free],
    [`/api/queues/${string}:limit`, TypeBody, Free],
    [`/api/queues/${string}:pause`, TypeBody, Free],
    [`/api/queues/${string}:purge`, TypeBody, Free],
    [`/api/workers/${string}:stop`, Free, Free],
    [`/api/jobs/${string}:cancel`, Free, Free],
    [`/api/jobs/${string}:runNow`, Free, Free],
    [`/api/jobs/${string}:retry`, Free, Free],
    [`/api/rooms/${string}/next`, Free, Unsaid],
    [`/api/cron/${string}:fire`, Free, Free],
    [`/api/jobs/${string}:bury`, Free, Free],
    [`/api/dlq/${string}:edit`, EditBody, Free],
  ];
  type Put = [
    ["/api/admin/game/time-scale", TimeScale, GameStatus],
    ["/api/admin/game/tick-rate", TickRate, GameStatus],
    ["/api/auth/password", NewPassword, NewLogin],
    [`/api/worlds/${string}/channels/${string}/maps/${string}/instances/${string}/characters/${string}`, NewPresence, null],
    [`/api/ships/${string}/automation/${string}`, Free, Unsaid],
    [`/api/cron/${string}`, JobBody, CronItem],
  ];
  type Patch = [
    [`/api/ships/${string}`, ShipChange, Unsaid],
  ];
  type Delete = [
    ["/api/monsters", Free, One_TeardownAttributes],
    ["/api/reactors", Free, One_TeardownAttributes],
    ["/api/session", Free, null],
    ["/api/check", Free, CheckState],
    ["/api/dlq", PickBody, PickAnswer],
    [`/api/worlds/${string}/channels/${string}/maps/${string}/instances/${string}/characters/${string}`, Free, null],
    [`/api/worlds/${string}/channels/${string}/maps/${string}/instances/${string}/monsters`, Free, Unsaid],
    [`/api/worlds/${string}/channels/${string}/maps/${string}/instances/${string}/reactors`, Free, Unsaid],
    [`/api/ships/${string}/automation/${string}`, Free, null],
    [`/api/admin/jumpgates/${string}`, Free, null],
    [`/api/monsters/${string}/status`, Free, One_CancelledAttributes],
    [`/api/admin/stations/${string}`, Free, null],
    [`/api/ships/${string}/maneuver`, Free, null],
    [`/api/admin/players/${string}`, Free, null],
    [`/api/admin/ships/${string}`, Free, null],
    [`/api/monsters/${string}`, Free, null],
    [`/api/reactors/${string}`, Free, null],
    [`/api/tokens/${string}`, Free, null],
    [`/api/rooms/${string}`, Free, null],
    [`/api/cron/${string}`, Free, Unsaid],
    [`/api/jobs/${string}`, Free, Free],
  ];
}
