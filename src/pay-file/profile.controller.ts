import {
  Body,
  Controller,
  Delete,
  Get,
  Headers,
  HttpCode,
  Param,
  Post,
  Put,
  Query,
  Res,
} from '@nestjs/common';
import {
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiOperation,
  ApiTags,
} from '@nestjs/swagger';
import { Response } from 'express';
import { z } from 'zod';
import { Database } from '../database/database';
import { Allow } from '../http/allow';
import { decodeCursor, Page, pageOf, PageQuery } from '../http/cursor';
import { etagOf } from '../http/etag';
import { IdParam } from '../http/prefixed-id';
import { Me, SignedIn } from '../http/signed-in';
import { CarriedOutOnce } from '../identity/idempotency.interceptor';
import { NewProfileBody, ProfileBody, ProfilePage, showProfile } from './profile.dto';
import { KeptProfile } from './profile.entity';
import {
  createProfile,
  deleteProfile,
  findProfile,
  listProfiles,
  NamedProfile,
  replaceProfile,
} from './profile.store';

const position = z.object({ id: z.uuid() });

/** What an employer says of the files of its payroll systems. */
@ApiTags('pay files')
@Controller('v1/employers/:employerId/pay-file-profiles')
export class ProfileController {
  constructor(private readonly database: Database) {}

  @Post()
  @CarriedOutOnce()
  @Allow('preparer')
  @ApiOperation({ summary: 'Saves how the files of a payroll system are to be read' })
  @ApiCreatedResponse({ type: ProfileBody })
  async create(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Me() me: SignedIn,
    @Body() body: NewProfileBody,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ProfileBody> {
    const named = namedProfile(body);
    return tagged(
      response,
      await this.database.inEmployer(employerId, (tx) => createProfile(tx, me.personId, named)),
    );
  }

  @Get()
  @Allow('preparer', 'approver', 'finance')
  @ApiOperation({ summary: 'Profiles of pay files, newest first' })
  @ApiOkResponse({ type: ProfilePage })
  async list(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Query() { limit, cursor }: PageQuery,
  ): Promise<Page<ProfileBody>> {
    const before = cursor === undefined ? undefined : decodeCursor(cursor, position).id;
    const kept = await this.database.inEmployer(employerId, (tx) => listProfiles(tx, before, limit + 1));
    const { items, nextCursor } = pageOf(kept, limit, ({ id }) => ({ id }));
    return { items: items.map(showProfile), nextCursor };
  }

  @Get(':profileId')
  @Allow('preparer', 'approver', 'finance')
  @ApiOperation({ summary: 'One profile of pay files' })
  @ApiOkResponse({ type: ProfileBody })
  async show(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('profileId', new IdParam('prf')) profileId: string,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ProfileBody> {
    return tagged(response, await this.database.inEmployer(employerId, (tx) => findProfile(tx, profileId)));
  }

  @Put(':profileId')
  @Allow('preparer')
  @ApiOperation({ summary: 'Replaces a profile as a whole; files that were read stay as they are' })
  @ApiOkResponse({ type: ProfileBody })
  async replace(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('profileId', new IdParam('prf')) profileId: string,
    @Me() me: SignedIn,
    @Body() body: NewProfileBody,
    @Headers('if-match') ifMatch: string | undefined,
    @Res({ passthrough: true }) response: Response,
  ): Promise<ProfileBody> {
    const named = namedProfile(body);
    return tagged(
      response,
      await this.database.inEmployer(employerId, (tx) =>
        replaceProfile(tx, me.personId, profileId, named, ifMatch),
      ),
    );
  }

  @Delete(':profileId')
  @HttpCode(204)
  @Allow('preparer')
  @ApiOperation({ summary: 'Deletes a profile; its name is free again' })
  @ApiNoContentResponse()
  async remove(
    @Param('employerId', new IdParam('emp')) employerId: string,
    @Param('profileId', new IdParam('prf')) profileId: string,
    @Me() me: SignedIn,
    @Headers('if-match') ifMatch: string | undefined,
  ): Promise<void> {
    await this.database.inEmployer(employerId, (tx) => deleteProfile(tx, me.personId, profileId, ifMatch));
  }
}

function namedProfile({ name, ...definition }: NewProfileBody): NamedProfile {
  return { name, definition };
}

function tagged(response: Response, kept: KeptProfile): ProfileBody {
  response.setHeader('ETag', etagOf(kept.revision));
  return showProfile(kept);
}
