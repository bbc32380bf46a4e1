ALTER TABLE "lane" ADD COLUMN "suspect_group" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "lane_item" ADD COLUMN "lone_crashes" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "lane_suspect" ON "lane" USING btree ("key") WHERE suspect_group > 0;