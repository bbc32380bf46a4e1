ALTER TABLE "lane" ADD COLUMN "unreported" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "lane_item" ADD COLUMN "waited_ms" bigint DEFAULT 0 NOT NULL;