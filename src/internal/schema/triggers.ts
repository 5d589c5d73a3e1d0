import { heldClaim } from "../util/heldClaim.js"
import { lines } from "../util/lines.js"

const part = (row: string, key: string): string =>
  `CASE WHEN json_valid(${row}.data) THEN json_extract(${row}.data, '$.${key}') END`

// A row without a status is pending, as its readers take it.
const status = (row: string): string =>
  `CASE WHEN json_valid(${row}.data) THEN COALESCE(json_extract(${row}.data, '$.status'), 'PENDING') END`

/** What the listing's columns beside the id hold of a row of the executions. */
export const listed = (row: string) => ({
  definitionId: `${row}.definition_id`,
  status: status(row),
  parentId: part(row, "parent_id"),
  root: `${part(row, "parent_id")} IS NULL`
})

/**
 * Triggers keep the listing, so that harel's writes are seen too. They write only when a status or parent changes, where an index on an
 * expression over `data` would be rewritten by every commit (measured: 80 against 49 us a commit without fsync, 46 with no index at all).
 * What it was before is in the listing itself: to look there takes less than to take it out of the text that was there.
 */
const listing = (p: string): ReadonlyArray<string> => {
  const after = listed("NEW")
  return [
    // One of an earlier version does the same, by both texts.
    `DROP TRIGGER IF EXISTS ${p}holdfast_listing_update`,
    lines`
      CREATE TRIGGER IF NOT EXISTS ${p}holdfast_listing_insert AFTER INSERT ON ${p}executions
      BEGIN
        INSERT OR REPLACE INTO ${p}holdfast_listing (id, definition_id, status, parent_id, root)
        VALUES (
          NEW.id,
          ${after.definitionId},
          ${after.status},
          ${after.parentId},
          ${after.root}
        );
      END`,
    lines`
      CREATE TRIGGER IF NOT EXISTS ${p}holdfast_listing_update AFTER UPDATE ON ${p}executions
      WHEN NOT EXISTS (
        SELECT 1
        FROM ${p}holdfast_listing AS l
        WHERE l.id = NEW.id
          AND l.definition_id IS ${after.definitionId}
          AND l.status IS ${after.status}
          AND l.parent_id IS ${after.parentId}
      )
      BEGIN
        UPDATE ${p}holdfast_listing
        SET definition_id = ${after.definitionId},
          status = ${after.status},
          parent_id = ${after.parentId},
          root = ${after.root}
        WHERE id = NEW.id;
      END`,
    lines`
      CREATE TRIGGER IF NOT EXISTS ${p}holdfast_listing_delete AFTER DELETE ON ${p}executions
      BEGIN
        DELETE FROM ${p}holdfast_listing WHERE id = OLD.id;
      END`
  ]
}

/** Fills the listing with the rows that were stored before the triggers existed: once, while there is no version row yet. */
export const fillListing = (p: string): string => {
  const { definitionId, parentId, root, status } = listed("e")
  return lines`
    INSERT INTO ${p}holdfast_listing (id, definition_id, status, parent_id, root)
    SELECT e.id,
      ${definitionId},
      ${status},
      ${parentId},
      ${root}
    FROM ${p}executions AS e
    WHERE NOT EXISTS (SELECT 1 FROM ${p}holdfast_meta WHERE key = 'schema_version')
    ON CONFLICT (id) DO UPDATE
    SET definition_id = excluded.definition_id,
      status = excluded.status,
      parent_id = excluded.parent_id,
      root = excluded.root`
}

/** What is known of a row goes with it, whoever removes it. Each time a timer is armed is a new one. */
const companions = (p: string): ReadonlyArray<string> => {
  const forget = (name: string, event: string, companion: string, where: string): string => lines`
    CREATE TRIGGER IF NOT EXISTS ${p}holdfast_${name} AFTER ${event}
    BEGIN
      DELETE FROM ${p}holdfast_${companion}
      WHERE ${where};
    END`
  const timer = "execution_id = OLD.execution_id AND path = OLD.path"
  const entry = "execution_id = OLD.execution_id AND event_id = OLD.event_id"
  return [
    // A mark tells the age of a row of the ledger. It must go with the row, because the same ids may be stored again.
    forget("marks_delete", `DELETE ON ${p}processed_events`, "marks", entry),
    forget("outbox_failures_delete", `DELETE ON ${p}outbox`, "outbox_failures", "seq = OLD.seq"),
    forget("spawn_failures_delete", `DELETE ON ${p}spawns`, "spawn_failures", "seq = OLD.seq"),
    forget("timer_failures_delete", `DELETE ON ${p}timers`, "timer_failures", timer),
    forget("timer_failures_update", `UPDATE ON ${p}timers`, "timer_failures", timer),
    forget("dead_letters_purge", `DELETE ON ${p}executions`, "dead_letters", "execution_id = OLD.id"),
    // An execution that comes again under the id must not get what was meant for the one before.
    forget("delayed_purge", `DELETE ON ${p}executions`, "delayed", "target_id = OLD.id"),
    forget("attributes_purge", `DELETE ON ${p}executions`, "attributes", "execution_id = OLD.id")
  ]
}

/**
 * An execution that is at its end, or is being cancelled, waits for no activity any more. Whoever writes it so, they go with it. And whoever has one
 * go on that was suspended or had failed, what was held because of that is ready.
 */
const activities = (p: string): ReadonlyArray<string> => {
  const end = (name: string, event: string, row: string): string => lines`
    CREATE TRIGGER IF NOT EXISTS ${p}holdfast_${name} AFTER ${event}
    BEGIN
      DELETE FROM ${p}holdfast_activities
      WHERE execution_id = ${row}.id;
    END`
  const ended = "NEW.status IN ('DONE', 'CANCELLED', 'CANCELLING') AND OLD.status IS NOT NEW.status"
  return [
    end("activities_end", `UPDATE OF status ON ${p}holdfast_listing WHEN ${ended}`, "NEW"),
    end("activities_purge", `DELETE ON ${p}holdfast_listing`, "OLD"),
    lines`
      CREATE TRIGGER IF NOT EXISTS ${p}holdfast_activities_resume AFTER UPDATE OF status ON ${p}holdfast_listing
      WHEN OLD.status IN ('SUSPENDED', 'FAILED') AND NEW.status IN ('RUNNING', 'PENDING')
      BEGIN
        UPDATE ${p}holdfast_activities
        SET ready_at = asked_at, claim = NULL
        WHERE execution_id = NEW.id AND owner IS NULL AND claim = '${heldClaim}';
      END`
  ]
}

export const triggers = (p: string): ReadonlyArray<string> => [...listing(p), ...companions(p), ...activities(p)]
