ALTER TABLE "lane" ADD COLUMN "waiting" boolean DEFAULT false NOT NULL;
