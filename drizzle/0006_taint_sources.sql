ALTER TABLE "session" ADD COLUMN "sources" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "schedule" ADD COLUMN "sources" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "scratchpad" ADD COLUMN "sources" jsonb DEFAULT '[]'::jsonb NOT NULL;
--> statement-breakpoint
-- data
-- Rows had one source each; now they have a list.
update "context" set payload = (payload - 'source') || jsonb_build_object('sources', jsonb_build_array(payload -> 'source'))
where payload ? 'source';
--> statement-breakpoint
update "lane_item" set payload = (payload - 'source') || jsonb_build_object('sources', coalesce(nullif(jsonb_build_array(payload -> 'source'), '[null]'), '[]'))
where lane like 'agent:%';
--> statement-breakpoint
-- What a session has read since /new taints it, also what its turns read no more.
update "session" s set sources = found.sources from (
  select c.session, jsonb_agg(distinct source) as sources
  from "context" c join "session" own on own.key = c.session and c.lane_seq > own.fresh_seq
    cross join lateral jsonb_array_elements(c.payload -> 'sources') source
  where jsonb_typeof(c.payload -> 'sources') = 'array' group by c.session) found
where s.key = found.session;
--> statement-breakpoint
-- Nothing is known of what was read before these were written.
update "scratchpad" set sources = '["local"]';
--> statement-breakpoint
update "todo" t set items = (select coalesce(jsonb_agg(item || '{"sources": ["local"]}'), '[]') from jsonb_array_elements(t.items) item);
